//! The recording that `--update` writes: the replayed sessions, as they went this time.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::report::signal_of;
use crate::recording::Stream;
use crate::session::Side;
use crate::tap::Recorder;

/// Writes to a file beside the one it is for, which it replaces at the end: that may be the recording that is replayed.
pub(super) struct NewRecording {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    session: Option<(Recorder<BufWriter<File>>, Instant)>,
    /// The first error.
    written: io::Result<()>,
}

impl NewRecording {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let temporary = path.with_file_name(name);
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&temporary)?;
        Ok(Self { path: path.to_owned(), temporary, file, session: None, written: Ok(()) })
    }

    pub(super) fn start_session(&mut self) {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let recorder = self.file.try_clone().and_then(|file| Recorder::new(BufWriter::new(file), epoch));
        match recorder {
            Ok(recorder) => self.session = Some((recorder, Instant::now())),
            Err(error) => self.note(Err(error)),
        }
    }

    pub(super) fn add_bytes(&mut self, from: Side, bytes: &[u8]) {
        if let Some((recorder, started)) = &mut self.session {
            let written = recorder.bytes(from, bytes, started.elapsed());
            self.note(written);
        }
    }

    /// Ends the session, with the server's status if it exited on its own.
    pub(super) fn end_session(&mut self, status: Option<ExitStatus>) {
        let Some((mut recorder, started)) = self.session.take() else { return };
        let at = started.elapsed();
        let mut streams = Side::BOTH.map(Stream::from).into_iter();
        let mut written = streams.try_for_each(|from| recorder.end_of_stream(from, at));
        if written.is_ok() {
            let (code, signal) = (status.and_then(|status| status.code()), status.as_ref().and_then(signal_of));
            written = recorder.end_of_session(code, signal, at);
        }
        self.note(written);
    }

    /// Puts the recording in its place.
    pub(super) fn finish(self) -> io::Result<()> {
        let Self { path, temporary, written, .. } = self;
        let finished = written.and_then(|()| std::fs::rename(&temporary, path));
        if finished.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        finished
    }

    /// Gives the recording up.
    pub(super) fn discard(self) {
        let _ = std::fs::remove_file(&self.temporary);
    }

    fn note(&mut self, written: io::Result<()>) {
        if self.written.is_ok() {
            self.written = written;
        }
    }
}
