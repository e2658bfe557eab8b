//! Where lines come from.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::excerpt::escape;
use crate::recording::{START, is_recording};

/// How much is read at once.
const READ: usize = 128 << 10;

/// A file, or standard input.
pub(crate) enum Source {
    File(PathBuf),
    Stdin,
}

impl Source {
    /// What the arguments name.
    pub(crate) fn all(files: &[PathBuf]) -> Vec<Self> {
        if files.is_empty() {
            return vec![Self::Stdin];
        }
        let source = |file: &PathBuf| if file == Path::new("-") { Self::Stdin } else { Self::File(file.clone()) };
        files.iter().map(source).collect()
    }

    pub(crate) fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            Self::File(path) => Box::new(File::open(path)?),
            Self::Stdin => Box::new(io::stdin().lock()),
        })
    }

    /// Its content, and whether it is a recording.
    pub(crate) fn open_any(&self) -> io::Result<(bool, BufReader<Box<dyn Read>>)> {
        let mut input = self.open()?;
        let mut start = Vec::new();
        input.by_ref().take(START as u64).read_to_end(&mut start)?;
        let is_recording = is_recording(&start);
        Ok((is_recording, BufReader::with_capacity(READ, Box::new(io::Cursor::new(start).chain(input)))))
    }

    /// How much there is to read, if that is known beforehand.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::File(path) => path.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len()),
            Self::Stdin => None,
        }
    }

    /// The name as it is, for machines.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Stdin => STDIN.to_owned(),
        }
    }

    /// The name with what a terminal could act upon escaped.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::File(path) => escape(path.as_os_str().as_encoded_bytes()),
            Self::Stdin => STDIN.to_owned(),
        }
    }
}

const STDIN: &str = "<stdin>";
