//! How long each contender took for the same job.

use std::time::Duration;

use crate::beside::Ratios;
use crate::table::Table;

/// The results of all contenders on one job.
pub(crate) struct Comparison {
    pub(crate) title: String,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// The best of these rounds counts.
    pub(crate) rounds: u32,
    pub(crate) rows: Vec<Row>,
    /// Notes for the reader.
    pub(crate) notes: Vec<String>,
}

/// The result of one contender.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) part: Part,
    /// The time for all messages, or `None` if it did not take part.
    pub(crate) time: Option<Duration>,
}

/// The role of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// wireline.
    Subject,
    /// wireline with another kernel.
    Kernel,
    /// wireline through another part of its API.
    Variant,
    /// A parser. The best of them is the baseline.
    Peer,
    /// A codec built on a parser.
    Codec,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>, part: Part, time: Option<Duration>) -> Self {
        Self { name: name.into(), part, time }
    }
}

impl Comparison {
    pub(crate) fn gigabytes_per_second(&self, time: Duration) -> f64 {
        self.bytes as f64 / time.as_nanos() as f64
    }

    fn nanoseconds_per_message(&self, time: Duration) -> f64 {
        time.as_nanos() as f64 / self.messages as f64
    }

    pub(crate) fn bytes_per_message(&self) -> u64 {
        self.bytes / self.messages
    }

    /// The speed of a contender that took `time`, relative to the best peer.
    pub(crate) fn against_best_peer(&self, time: Duration) -> Option<f64> {
        let peers = self.rows.iter().filter(|row| row.part == Part::Peer);
        let best = peers.filter_map(|row| row.time).min()?;
        Some(best.as_secs_f64() / time.as_secs_f64())
    }

    /// `what` was compared here and in another run, whose ratios have a column of their own.
    pub(crate) fn table(&self, what: &str, beside: Option<&Ratios>) -> Table {
        let other = beside.map(|beside| format!("in profile {}", beside.profile));
        let mut table =
            Table::new(["", "GB/s", "ns/message", "against the best peer"].into_iter().chain(other.as_deref()));
        for row in &self.rows {
            let mut cells = match row.time {
                Some(time) => vec![
                    row.name.clone(),
                    figures(self.gigabytes_per_second(time)),
                    figures(self.nanoseconds_per_message(time)),
                    self.against_best_peer(time).map_or_else(String::new, times),
                ],
                None => vec![row.name.clone(), "–".to_owned(), "–".to_owned(), "–".to_owned()],
            };
            if let Some(beside) = beside {
                cells.push(beside.get(what, self, &row.name).map_or_else(|| "–".to_owned(), times));
            }
            table.push(cells);
        }
        table
    }
}

/// One line per comparison: the speeds of all but the variants in GB/s, and those of the subject and of other kernels
/// relative to the best peer.
///
/// All `comparisons` must have the same contenders.
pub(crate) fn summary(comparisons: &[Comparison]) -> Option<Table> {
    let shown = |row: &&Row| row.part != Part::Variant;
    let is_ours = |row: &&Row| matches!(row.part, Part::Subject | Part::Kernel);
    let rows = &comparisons.first()?.rows;
    let names = rows.iter().filter(shown).map(|row| row.name.as_str());
    let ratios = rows.iter().filter(is_ours).map(|row| match row.part {
        Part::Kernel => format!("{} ×", row.name),
        _ => "against the best peer".to_owned(),
    });
    let ratios: Vec<String> = ratios.collect();
    let header = ["GB/s", "message"].into_iter().chain(names).chain(ratios.iter().map(String::as_str));
    let mut table = Table::new(header);
    for comparison in comparisons {
        let mut cells = vec![comparison.title.clone(), bytes(comparison.bytes_per_message())];
        for row in comparison.rows.iter().filter(shown) {
            let speed = row.time.map(|time| figures(comparison.gigabytes_per_second(time)));
            cells.push(speed.unwrap_or_else(|| "–".to_owned()));
        }
        for row in comparison.rows.iter().filter(is_ours) {
            let ahead = row.time.and_then(|time| comparison.against_best_peer(time));
            cells.push(ahead.map_or_else(String::new, times));
        }
        table.push(cells);
    }
    Some(table)
}

/// Formats a value with about three significant digits, more than the measurement is precise to.
pub(crate) fn figures(value: f64) -> String {
    match value {
        ..0.1 => format!("{value:.3}"),
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn times(ratio: f64) -> String {
    if figures(ratio) == "1.00" {
        "1.00".to_owned()
    } else if ratio > 1.0 {
        format!("{} × as fast", figures(ratio))
    } else {
        format!("{} × as slow", figures(1.0 / ratio))
    }
}

pub(crate) fn bytes(count: u64) -> String {
    if count < 1000 { format!("{count} B") } else { format!("{} KB", figures(count as f64 / 1e3)) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 1000 messages of 100 bytes each, which the subject decodes at 1 GB/s.
    pub(crate) fn example(title: &str) -> Comparison {
        let row = |name, part, micros| Row::new(name, part, (micros > 0).then(|| Duration::from_micros(micros)));
        let rows = vec![
            row("subject", Part::Subject, 100),
            row("  variant", Part::Variant, 50),
            row("peer", Part::Peer, 400),
            row("better peer", Part::Peer, 250),
            row("codec", Part::Codec, 5000),
            row("absent", Part::Codec, 0),
        ];
        Comparison { title: title.to_owned(), messages: 1000, bytes: 100_000, rounds: 7, rows, notes: Vec::new() }
    }

    #[test]
    fn times_become_a_table() {
        let expected = "              GB/s  ns/message  against the best peer
subject       1.00         100         2.50 × as fast
  variant     2.00        50.0         5.00 × as fast
peer          0.25         400         1.60 × as slow
better peer   0.40         250                   1.00
codec        0.020        5000         20.0 × as slow
absent           –           –                      –
";
        assert_eq!(example("test").table("Decoding", None).plain(), expected);
    }

    #[test]
    fn a_summary_has_a_line_for_each() {
        let table = summary(&[example("one"), example("two")]).map(|table| table.markdown());
        let expected = "| GB/s | message | subject | peer | better peer | codec | absent | against the best peer |\n\
                        |---|--:|--:|--:|--:|--:|--:|--:|\n\
                        | one | 100 B | 1.00 | 0.25 | 0.40 | 0.020 | – | 2.50 × as fast |\n\
                        | two | 100 B | 1.00 | 0.25 | 0.40 | 0.020 | – | 2.50 × as fast |\n";
        assert_eq!(table.as_deref(), Some(expected));
        assert!(summary(&[]).is_none());
    }

    #[test]
    fn values_have_about_three_digits() {
        let given = [0.0123, 0.123, 1.234, 12.34, 123.4, 1234.5].map(figures);
        assert_eq!(given, ["0.012", "0.12", "1.23", "12.3", "123", "1234"]);
        assert_eq!([165, 13_120, 270_511].map(bytes), ["165 B", "13.1 KB", "271 KB"]);
    }
}
