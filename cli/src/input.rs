//! The files and streams that commands read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::judge::BYTE_ORDER_MARK;
use crate::output::report_error;
use crate::terminal::{escape, escape_end};
use crate::{recording, recordings};

/// How much to read at once, by measurement: it is still in the cache when it is decoded.
pub(crate) const READ_LEN: usize = 128 << 10;

const STDIN: &str = "<stdin>";

/// A file or standard input, as named on the command line.
pub(crate) enum Source {
    File(PathBuf),
    Stdin,
}

impl Source {
    /// The sources that the arguments name: standard input for `-`, or if there are none; the files in a directory; the
    /// files that match a pattern, if no file has that name.
    pub(crate) fn all(files: &[PathBuf]) -> Vec<Self> {
        if files.is_empty() {
            return vec![Self::Stdin];
        }
        let mut sources = Vec::new();
        for file in files {
            let before = sources.len();
            if file == Path::new("-") {
                sources.push(Self::Stdin);
            } else if file.is_dir() {
                add_files(file, &mut sources);
            } else if let Some(pattern) =
                file.to_str().filter(|name| name.contains(['*', '?', '['])).filter(|_| !file.exists())
            {
                let paths = glob::glob(pattern).into_iter().flatten().filter_map(Result::ok);
                paths.for_each(|path| match path.is_dir() {
                    true => add_files(&path, &mut sources),
                    false => sources.push(Self::File(path)),
                });
            }
            // What does not exist is reported when it is opened.
            if sources.len() == before {
                sources.push(Self::File(file.clone()));
            }
        }
        sources
    }

    /// The source that an argument names: standard input for `-`.
    pub(crate) fn one(file: &Path) -> Self {
        if file == Path::new("-") { Self::Stdin } else { Self::File(file.to_owned()) }
    }

    /// Like [`one`](Self::one), or without an argument the newest recording, which is named on standard error.
    pub(crate) fn one_or_newest(file: Option<&Path>) -> Result<Self, String> {
        if let Some(file) = file {
            return Ok(Self::one(file));
        }
        let newest = Self::File(recordings::newest()?);
        report_error(&format!("reading {}", newest.escaped_name()));
        Ok(newest)
    }

    pub(crate) fn open(&self) -> io::Result<Input> {
        let Self::File(path) = self else { return Input::from_stream(io::stdin().lock()) };
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            let mut files = Vec::new();
            add_files(path, &mut files);
            return Err(io::Error::other(match files.is_empty() {
                true => "the directory has no files in it",
                false => "this is a directory: name one of the files in it",
            }));
        }
        if !metadata.is_file() {
            return Input::from_stream(file);
        }
        let mut start = [0; SNIFF_LEN];
        let len = read_at(&file, &mut start, 0).unwrap_or(0);
        // On Windows, reading at an offset moves the cursor.
        #[cfg(windows)]
        io::Seek::rewind(&mut &file)?;
        let start = &start[..len];
        refuse_compressed(start)?;
        Ok(match recording::is_recording(start) {
            true => Input::Recording(Box::new(BufReader::with_capacity(READ_LEN, file))),
            false => Input::File {
                file,
                len: metadata.len(),
                is_binary: is_binary(start),
                has_mark: start.starts_with(BYTE_ORDER_MARK),
            },
        })
    }

    /// The length in bytes, if it is known before reading.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::File(path) => path.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len()),
            Self::Stdin => None,
        }
    }

    /// The unescaped name, for machines.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.to_string_lossy().into_owned(),
            Self::Stdin => STDIN.to_owned(),
        }
    }

    /// The name, escaped for a terminal.
    pub(crate) fn escaped_name(&self) -> String {
        match self {
            Self::File(path) => escape(path.as_os_str().as_encoded_bytes()),
            Self::Stdin => STDIN.to_owned(),
        }
    }

    /// The end of the escaped name that fits into `columns`.
    pub(crate) fn escaped_name_within(&self, columns: usize) -> String {
        match self {
            Self::File(path) => escape_end(path.as_os_str().as_encoded_bytes(), columns),
            Self::Stdin => STDIN.to_owned(),
        }
    }
}

/// A source, opened for reading.
pub(crate) enum Input {
    /// A regular file, which can be read at any offset, and its length when it was opened.
    File { file: File, len: u64, is_binary: bool, has_mark: bool },
    /// A pipe, a terminal or a device.
    Stream { stream: Box<dyn Read>, is_binary: bool, has_mark: bool },
    /// A recording that `wireline tap` wrote.
    Recording(Box<dyn BufRead>),
}

impl Input {
    /// Whether it is no recording, and starts with a byte order mark.
    pub(crate) fn has_byte_order_mark(&self) -> bool {
        matches!(self, Self::File { has_mark: true, .. } | Self::Stream { has_mark: true, .. })
    }

    /// Whether it does not look like text.
    pub(crate) fn is_binary(&self) -> bool {
        matches!(self, Self::File { is_binary: true, .. } | Self::Stream { is_binary: true, .. })
    }

    fn from_stream(mut stream: impl Read + 'static) -> io::Result<Self> {
        let mut start = Vec::new();
        // Plain traffic is recognised by its first bytes, so a slow writer's first message is not held back.
        while start.len() < recording::DETECTION_LEN && recording::may_be_recording(&start) {
            let mut more = [0; recording::DETECTION_LEN];
            match read_retrying(&mut stream, &mut more)? {
                0 => break,
                len => start.extend_from_slice(&more[..len]),
            }
        }
        refuse_compressed(&start)?;
        let (is_recording, is_binary) = (recording::is_recording(&start), is_binary(&start));
        let has_mark = start.starts_with(BYTE_ORDER_MARK);
        let stream = io::Cursor::new(start).chain(stream);
        Ok(match is_recording {
            true => Self::Recording(Box::new(BufReader::with_capacity(READ_LEN, stream))),
            false => Self::Stream { stream: Box::new(stream), is_binary, has_mark },
        })
    }
}

/// How much of a file to look at in order to tell what it is.
const SNIFF_LEN: usize = 1024;

/// The first bytes of compressed files, and the command that decompresses them.
const COMPRESSED: [(&[u8], &str, &str); 5] = [
    (b"\x1f\x8b", "gzip", "gzip -dc"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc"),
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"BZh91AY", "bzip2", "bzip2 -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

fn refuse_compressed(start: &[u8]) -> io::Result<()> {
    match COMPRESSED.iter().find(|(magic, ..)| start.starts_with(magic)) {
        None => Ok(()),
        Some((_, name, command)) => {
            Err(io::Error::other(format!("this is a {name} file: decompress it first, as with `{command}`")))
        }
    }
}

/// What to say of a file that [`is_binary`](Input::is_binary).
pub(crate) const BINARY: &str = "this looks like a binary file, not like text";

/// Whether a file with this start is not text: it has zero bytes, and is not UTF-16 either.
fn is_binary(start: &[u8]) -> bool {
    let is_utf16 = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    memchr::memchr(0, start).is_some() && !is_utf16
}

/// Adds the files in a directory and below, sorted by name, apart from hidden ones.
fn add_files(directory: &Path, sources: &mut Vec<Source>) {
    let Ok(entries) = directory.read_dir() else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries.iter().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b".")) {
        match entry.file_type() {
            // Links to directories are not followed: they may lead round in circles.
            Ok(kind) if kind.is_dir() => add_files(&entry.path(), sources),
            Ok(_) if entry.path().is_file() => sources.push(Source::File(entry.path())),
            _ => {}
        }
    }
}

/// Reads once, and again if a signal interrupts it.
pub(crate) fn read_retrying(input: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Whether [`read_at`] works on this system.
pub(crate) const CAN_READ_AT: bool = cfg!(any(unix, windows));

/// Reads at an offset, without regard to the file's cursor.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, buffer, offset);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, buffer, offset);
    #[cfg(not(any(unix, windows)))]
    return Err(io::ErrorKind::Unsupported.into());
}
