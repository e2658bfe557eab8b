//! Where lines come from.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::excerpt::{escape, escape_end};
use crate::judge::{READ, read_some};
use crate::recording;

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

    pub(crate) fn open(&self) -> io::Result<Input> {
        let Self::File(path) = self else { return Input::of_stream(io::stdin().lock()) };
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Input::of_stream(file);
        }
        let mut start = [0; recording::START];
        let len = read_at(&file, &mut start, 0).unwrap_or(0);
        Ok(match recording::is_recording(&start[..len]) {
            true => Input::Recording(Box::new(BufReader::with_capacity(READ, file))),
            false => Input::File { file, len: metadata.len() },
        })
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

    /// The same, or the end of it if it takes more columns than that.
    pub(crate) fn shown_within(&self, columns: usize) -> String {
        match self {
            Self::File(path) => escape_end(path.as_os_str().as_encoded_bytes(), columns),
            Self::Stdin => STDIN.to_owned(),
        }
    }
}

/// What can be read.
pub(crate) enum Input {
    /// A regular file, which can be read anywhere, and how long it was when it was opened.
    File { file: File, len: u64 },
    /// What comes when it comes: a pipe, a terminal.
    Stream(Box<dyn Read>),
    /// What `wireline tap` has written.
    Recording(Box<dyn BufRead>),
}

impl Input {
    fn of_stream(mut input: impl Read + 'static) -> io::Result<Self> {
        let mut start = Vec::new();
        // What is no recording shows it soon, and must not be kept waiting for more.
        while start.len() < recording::START && recording::may_be_recording(&start) {
            let mut more = [0; recording::START];
            match read_some(&mut input, &mut more)? {
                0 => break,
                len => start.extend_from_slice(&more[..len]),
            }
        }
        let is_recording = recording::is_recording(&start);
        let input = io::Cursor::new(start).chain(input);
        Ok(match is_recording {
            true => Self::Recording(Box::new(BufReader::with_capacity(READ, input))),
            false => Self::Stream(Box::new(input)),
        })
    }
}

/// Reads at an offset, whoever else is reading from the file.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, buffer, offset);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, buffer, offset);
    #[cfg(not(any(unix, windows)))]
    return Err(io::ErrorKind::Unsupported.into());
}

const STDIN: &str = "<stdin>";
