//! The ratios of another run, to be shown beside those of this one: the same program in another build profile.
//!
//! A file has a line for each row: what was compared, who, and the speed relative to the best peer, with tabs between.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use crate::comparison::Comparison;

/// Ratios by comparison and contender.
#[derive(Default)]
pub(crate) struct Ratios {
    /// The profile that they were measured with.
    pub(crate) profile: String,
    ratios: HashMap<(String, String), f64>,
}

impl Ratios {
    pub(crate) fn new(profile: &str) -> Self {
        Self { profile: profile.to_owned(), ratios: HashMap::new() }
    }

    pub(crate) fn add(&mut self, what: &str, comparison: &Comparison) {
        for row in &comparison.rows {
            if let Some(ratio) = row.time.and_then(|time| comparison.against_best_peer(time)) {
                self.ratios.insert((heading(what, comparison), row.name.clone()), ratio);
            }
        }
    }

    pub(crate) fn get(&self, what: &str, comparison: &Comparison, contender: &str) -> Option<f64> {
        self.ratios.get(&(heading(what, comparison), contender.to_owned())).copied()
    }

    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut lines = format!("profile\t{}\n", self.profile);
        for ((what, who), ratio) in &self.ratios {
            let _ = writeln!(lines, "{what}\t{who}\t{ratio}");
        }
        fs::write(path, lines)
    }

    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let wrong = || format!("{}: not a file that --save has written", path.display());
        let mut ratios = match lines.next().as_deref() {
            Some(["profile", profile]) => Self::new(profile),
            _ => return Err(wrong()),
        };
        for line in lines {
            let [what, who, ratio] = line[..] else { return Err(wrong()) };
            let ratio = ratio.parse().map_err(|_| wrong())?;
            ratios.ratios.insert((what.to_owned(), who.to_owned()), ratio);
        }
        Ok(ratios)
    }
}

fn heading(what: &str, comparison: &Comparison) -> String {
    format!("{what} {} of {} B", comparison.title, comparison.bytes_per_message())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::example;

    #[test]
    fn what_is_written_is_read() {
        let mut ratios = Ratios::new("fat");
        ratios.add("Decoding", &example("test"));
        let path = std::env::temp_dir().join(format!("peers-{}.tsv", std::process::id()));
        ratios.write(&path).unwrap();
        let read = Ratios::read(&path).unwrap();
        assert_eq!((read.profile.as_str(), read.ratios.len()), ("fat", 5));
        assert_eq!(read.get("Decoding", &example("test"), "subject"), Some(2.5));
        assert_eq!(read.get("Encoding", &example("test"), "subject"), None);
        fs::write(&path, "something else").unwrap();
        assert!(Ratios::read(&path).is_err());
        fs::remove_file(&path).unwrap();
    }
}
