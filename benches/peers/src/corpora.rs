//! What is decoded: generated traffic, and folders of recorded.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wireline_benches::Corpus as Generated;

use crate::contenders::lines;

/// How much there is of a generated corpus.
const GENERATED: usize = 1 << 20;

/// How much is gone through between two looks at the clock, at least: less than a millisecond for most and some for the
/// slowest, so that of many passes some fall between the disturbances of a busy machine for everybody.
const SLICE: usize = 128 << 10;

/// And how many lines: a decoder whose every line is the last for now would be measured while it gives back memory.
const SLICE_LINES: usize = 8;

/// Lines to be decoded, none of them blank.
pub(crate) struct Corpus {
    pub(crate) name: String,
    /// Whether somebody recorded it, and not all of it need be what everybody accepts.
    pub(crate) recorded: bool,
    lines: Vec<Vec<u8>>,
}

impl Corpus {
    pub(crate) fn generated(corpus: Generated) -> Self {
        Self::of_lines(corpus.name(), false, &corpus.lines(GENERATED))
    }

    /// All files of a folder that are called `.ndjson` or `.jsonl`, and those of the folders in it, in the order of
    /// their paths: as one corpus, or as one for all files of the same name.
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
            // The last line of a file may have no end.
            stream.push(b'\n');
        }
        let corpora = streams.iter().map(|(name, stream)| Self::of_lines(name, true, stream));
        let corpora: Vec<Self> = corpora.filter(|corpus| !corpus.lines.is_empty()).collect();
        if corpora.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "no lines in files *.ndjson or *.jsonl"));
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

    /// Leaves out the lines for which `wanted` is false.
    pub(crate) fn retain(&mut self, wanted: &[bool]) {
        let mut wanted = wanted.iter();
        self.lines.retain(|_| wanted.next().is_none_or(|&wanted| wanted));
    }

    pub(crate) fn messages(&self) -> u64 {
        self.lines.len() as u64
    }

    /// With line ends.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.iter().map(|line| line.len() as u64 + 1).sum()
    }

    /// The stream, cut between lines into what is timed at once.
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
        let (long, short) = ("x".repeat(SLICE / 3), "y".repeat(SLICE / 50));
        let stream = [vec![&long[..]; 9], vec!["", " \t\r"], vec![&short[..]; 60]].concat().join("\n") + "\n";
        let corpus = Corpus::of_lines("test", true, stream.as_bytes());
        assert_eq!(corpus.messages(), 69);
        let slices = corpus.slices();
        let counts: Vec<_> = slices.iter().map(|slice| lines(slice).count()).collect();
        // Eight long ones, one long one and as many short ones as fill it up, and the rest.
        assert_eq!(counts, [8, 35, 26]);
        assert_eq!(slices.concat().len() as u64, corpus.bytes());
        assert!(slices.iter().all(|slice| slice.ends_with(b"\n")));
    }

    #[test]
    fn a_generated_corpus_is_all_there() {
        for generated in Generated::ALL {
            let slices = Corpus::generated(generated).slices();
            assert!(slices.concat() == generated.lines(GENERATED), "{generated:?}");
        }
    }

    #[test]
    fn lines_are_left_out() {
        let mut corpus = Corpus::of_lines("test", true, b"1\n2\n3\n");
        corpus.retain(&[true, false, true]);
        assert_eq!(corpus.slices(), [b"1\n3\n"]);
    }
}
