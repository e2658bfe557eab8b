//! What the server saw, one JSON object per line, without the client's bytes.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Something that a client did, or that was done to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Observed {
    Started {
        pid: u32,
    },
    Request,
    Notification,
    /// A response to a request of the server.
    Response,
    /// A response that answers no request.
    Stray,
    /// A line that is no valid message.
    Fault {
        kind: String,
    },
    /// The client cancelled a request.
    Cancelled,
    /// The server misbehaved.
    Misbehaved,
    /// The server sent a request.
    Asked,
    InputEnded,
    /// The client no longer reads.
    OutputClosed,
    Exited {
        code: u8,
    },
}

/// Where a server notes what it sees; nowhere by default.
#[derive(Debug, Default)]
pub(super) struct Log(Option<File>);

impl Log {
    /// Adds to the file, since some clients start their server more than once.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Some(OpenOptions::new().create(true).append(true).open(path)?)))
    }

    pub(super) fn note(&mut self, observed: &Observed) {
        let Some(file) = &mut self.0 else { return };
        let Ok(mut line) = serde_json::to_vec(observed) else { return };
        line.push(b'\n');
        // A log that can't be written is missing an event, which its reader will notice.
        let _ = file.write_all(&line);
    }
}

/// Reads a log. A server that was killed may have left half a line, which is ignored.
pub(crate) fn read_log(path: &Path) -> io::Result<Vec<Observed>> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}
