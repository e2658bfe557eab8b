//! Statistics of a recorded session in a file: how often each tool was called, and how often that succeeded or failed.
//!
//! Each contender reads the file itself, checks each line completely, finds its method, its id and the member `name` of
//! its params, and finds the request of each response. On two threads, each takes half of the file, and what waits for
//! the other half is joined at the end.

mod contenders;
mod jq;
mod tally;

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use wireline_corpus::{Random, session};

use crate::comparison::figures;
use crate::progress::Progress;
use crate::rounds::shuffle;
use crate::table::Table;

use contenders::{CONTENDERS, Contender};
use tally::Tally;

/// The length of the file in bytes.
const LEN: u64 = 500_000_000;

/// Its length if there is no time.
const SHORT_LEN: u64 = 1_000_000;

/// jq gets a file that is so many times shorter, because it is so much slower.
const SHARE_OF_JQ: u64 = 100;

/// The minimum number of rounds.
const FEWEST: u32 = 5;

/// The numbers of threads.
const THREADS: [u64; 2] = [1, 2];

/// A heading, a table and notes.
pub(crate) fn compare(time: Duration) -> Result<(String, Table, Vec<String>), Box<dyn Error>> {
    let (len, fewest) = if time.is_zero() { (SHORT_LEN, 1) } else { (LEN, FEWEST) };
    let file = Recording::create(len)?;
    let (expected, _) = count(&CONTENDERS[0], &file.path, 1)?;
    let mut runs: Vec<Runs> = Vec::new();
    for contender in CONTENDERS {
        runs.extend(THREADS.map(|threads| Runs { contender, threads, times: Vec::new(), cpu: Vec::new() }));
    }
    let mut order: Vec<usize> = (0..runs.len()).collect();
    let mut random = Random::new(1);
    let progress = Progress::of("statistics of a recording");
    let (start, mut rounds) = (Instant::now(), 0);
    while rounds < fewest || start.elapsed() < time {
        shuffle(&mut order, &mut random);
        for &at in &order {
            let Runs { contender, threads, times, cpu } = &mut runs[at];
            let start = Instant::now();
            let (tally, busy) = count(contender, &file.path, *threads)?;
            times.push(start.elapsed());
            cpu.extend(busy);
            assert!(tally == expected, "{} counts something else", contender.name);
        }
        rounds += 1;
        progress.rounds(rounds, start.elapsed().as_secs_f64() / time.as_secs_f64());
    }
    let mut table = Table::new(["GB/s", "1 thread", "median", "CPU time", "2 threads", "median", "CPU time"]);
    let speed = |len: u64, took: Duration| figures(len as f64 / took.as_nanos() as f64);
    for pair in runs.chunks_mut(THREADS.len()) {
        let mut cells = vec![pair[0].contender.name.to_owned()];
        for Runs { times, cpu, .. } in pair {
            times.sort();
            cells.extend([times[0], times[times.len() / 2]].map(|took| speed(file.len, took)));
            cells.push(cpu.iter().min().map_or_else(|| "–".to_owned(), |&busy| speed(file.len, busy)));
        }
        table.push(cells);
    }
    let mut notes = vec![
        format!("{expected}; every contender counted the same"),
        "CPU time: what the speed would be if the threads never waited for a CPU, in the best round".to_owned(),
    ];
    let short = Recording::create(len / SHARE_OF_JQ)?;
    match jq::count(&short.path)? {
        Some((took, tally)) => {
            assert!(tally == count(&CONTENDERS[0], &short.path, 1)?.0, "jq counts something else");
            let (megabytes, seconds) = (short.len as f64 / 1e6, took.as_secs_f64());
            notes.push(format!("jq, on {megabytes:.2} MB, in a single run: {} MB/s", figures(megabytes / seconds)));
        }
        None => notes.push("without jq, which isn't installed".to_owned()),
    }
    let heading =
        format!("Statistics of a recording of {} MB: best and median of {rounds} rounds", file.len / 1_000_000);
    Ok((heading, table, notes))
}

/// The runs of a contender on as many threads.
struct Runs {
    contender: &'static Contender,
    threads: u64,
    times: Vec<Duration>,
    /// How long the threads were busy, in sum. Empty where the system doesn't tell.
    cpu: Vec<Duration>,
}

/// How long this thread has been running on a CPU.
fn cpu_time() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// A file that is removed when this is dropped.
struct Recording {
    path: PathBuf,
    len: u64,
}

impl Recording {
    fn create(len: u64) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("wireline-peers-{}.ndjson", std::process::id()));
        let mut recording = Self { path, len: 0 };
        let mut out = BufWriter::new(File::create(&recording.path)?);
        recording.len = session(len, &mut out)?;
        out.flush()?;
        Ok(recording)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A part of the file, of whole lines.
type Part = io::Take<File>;

/// What was counted, and how long the threads were busy, in sum.
fn count(contender: &Contender, path: &Path, threads: u64) -> io::Result<(Tally, Option<Duration>)> {
    let parts = parts(path, threads)?;
    let halves = thread::scope(|scope| {
        let count = |part| {
            let mut tally = Tally::default();
            (contender.count)(part, &mut tally).map(|()| (tally, cpu_time()))
        };
        let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || count(part))).collect();
        threads.into_iter().map(|thread| thread.join().expect("every line is valid")).collect::<io::Result<Vec<_>>>()
    })?;
    let busy = halves.iter().map(|(_, busy)| *busy).sum();
    let tallies = halves.into_iter().map(|(tally, _)| tally);
    Ok((tallies.reduce(Tally::followed_by).unwrap_or_default(), busy))
}

/// Parts of about the same length, each of which starts after a line feed.
fn parts(path: &Path, count: u64) -> io::Result<Vec<Part>> {
    let len = fs::metadata(path)?.len();
    let mut starts = vec![0];
    for nth in 1..count {
        let mut file = BufReader::new(File::open(path)?);
        let at = len * nth / count;
        file.seek(SeekFrom::Start(at))?;
        starts.push(at + io::BufRead::skip_until(&mut file, b'\n')? as u64);
    }
    let ends = starts[1..].iter().copied().chain([len]);
    let parts = starts.iter().zip(ends).map(|(&start, end)| {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(start))?;
        Ok(file.take(end - start))
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_whole_file() {
        let recording = Recording::create(10_000).unwrap();
        let whole = fs::read(&recording.path).unwrap();
        for count in 1..5 {
            let mut joined = Vec::new();
            for mut part in parts(&recording.path, count).unwrap() {
                let start = joined.len();
                part.read_to_end(&mut joined).unwrap();
                assert!(joined.len() > start && joined.ends_with(b"\n"));
            }
            assert!(joined == whole, "{count} parts");
        }
    }
}
