//! The traffic to decode: generated, or recorded in folders.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wireline_corpus::Corpus as Generated;

use crate::contenders::lines;

/// The size of a generated corpus in bytes.
const GENERATED: usize = 1 << 20;

/// The minimum number of bytes that are timed at once: less than a millisecond for most contenders and a few for the
/// slowest, so that on a busy machine some passes of each contender run undisturbed.
const SLICE: usize = 128 << 10;

/// The minimum number of lines that are timed at once. With a single line, a decoder would be measured while it
/// releases its memory after that line. With many long ones, a slice and the copies that contenders make of it would not fit
/// in the cache of a core, and the speed of the next cache would be measured.
const SLICE_LINES: usize = 2;

/// Lines to decode, none of them blank.
#[derive(Clone)]
pub(crate) struct Corpus {
    pub(crate) name: String,
    /// Whether it was recorded, so that some contenders may refuse some lines.
    pub(crate) recorded: bool,
    lines: Vec<Vec<u8>>,
}

impl Corpus {
    pub(crate) fn generated(corpus: Generated) -> Self {
        Self::of_lines(corpus.name(), false, &corpus.lines(GENERATED))
    }

    /// Reads all `.ndjson` and `.jsonl` files of a folder and its direct subfolders, in the order of their paths: as
    /// one corpus, or as one corpus per file name.
    pub(crate) fn folder(path: &Path, by_name: bool) -> io::Result<Vec<Self>> {
        let folder = path.canonicalize()?;
        let folder = folder.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
        let mut streams: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for file in files(path, 1)? {
            let name = match file.file_stem() {
                Some(stem) if by_name => format!("{folder}/{}", stem.to_string_lossy()),
                _ => folder.to_string(),
            };
            let stream = streams.entry(name).or_default();
            stream.extend(fs::read(file)?);
            // The last line of a file may have no line feed.
            stream.push(b'\n');
        }
        let corpora = streams.iter().map(|(name, stream)| Self::of_lines(name, true, stream));
        let corpora: Vec<Self> = corpora.filter(|corpus| !corpus.lines.is_empty()).collect();
        if corpora.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no lines found in *.ndjson or *.jsonl files"));
        }
        Ok(corpora)
    }

    pub(crate) fn of_lines(name: &str, recorded: bool, stream: &[u8]) -> Self {
        let lines = lines(stream).filter(|line| !line.trim_ascii().is_empty());
        Self { name: name.to_owned(), recorded, lines: lines.map(<[u8]>::to_vec).collect() }
    }

    pub(crate) fn lines(&self) -> &[Vec<u8>] {
        &self.lines
    }

    /// Removes the lines for which `wanted` is false.
    pub(crate) fn retain(&mut self, wanted: &[bool]) {
        let mut wanted = wanted.iter();
        self.lines.retain(|_| wanted.next().is_none_or(|&wanted| wanted));
    }

    pub(crate) fn messages(&self) -> u64 {
        self.lines.len() as u64
    }

    /// The size of all lines, including line feeds.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.iter().map(|line| line.len() as u64 + 1).sum()
    }

    /// The stream, split between lines into the slices that are timed.
    pub(crate) fn slices(&self) -> Vec<Vec<u8>> {
        let mut slices = Vec::new();
        let mut rest = &self.lines[..];
        while !rest.is_empty() {
            let mut slice = Vec::new();
            let mut lines = 0;
            while lines < rest.len() && (slice.len() < SLICE || lines < SLICE_LINES) {
                slice.extend_from_slice(&rest[lines]);
                slice.push(b'\n');
                lines += 1;
            }
            slices.push(slice);
            rest = &rest[lines..];
        }
        slices
    }
}

fn files(folder: &Path, levels: usize) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            if levels > 0 {
                found.extend(files(&path, levels - 1)?);
            }
        } else if path.extension().is_some_and(|extension| extension == "ndjson" || extension == "jsonl") {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_the_whole_stream() {
        let (long, short) = ("x".repeat(SLICE), "y".repeat(SLICE / 50));
        let stream = [vec![&long[..]; 3], vec!["", " \t\r"], vec![&short[..]; 60]].concat().join("\n") + "\n";
        let corpus = Corpus::of_lines("test", true, stream.as_bytes());
        assert_eq!(corpus.messages(), 63);
        let slices = corpus.slices();
        let counts: Vec<_> = slices.iter().map(|slice| lines(slice).count()).collect();
        // Two long lines; a long line and a short one; short ones; the rest.
        assert_eq!(counts, [2, 2, 50, 9]);
        assert_eq!(slices.concat().len() as u64, corpus.bytes());
        assert!(slices.iter().all(|slice| slice.ends_with(b"\n")));
    }

    #[test]
    fn slices_of_a_generated_corpus_are_complete() {
        for generated in Generated::ALL {
            let slices = Corpus::generated(generated).slices();
            assert!(slices.concat() == generated.lines(GENERATED), "{generated:?}");
        }
    }

    #[test]
    fn unwanted_lines_are_removed() {
        let mut corpus = Corpus::of_lines("test", true, b"1\n2\n3\n");
        corpus.retain(&[true, false, true]);
        assert_eq!(corpus.slices(), [b"1\n3\n"]);
    }
}
