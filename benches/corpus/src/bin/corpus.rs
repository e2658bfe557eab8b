//! Writes any amount of synthetic traffic to stdout: `corpus small 1000000 | …`.

use std::env;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use wireline_corpus::{Corpus, session};

const HELP: &str = "\
Usage: corpus NAME BYTES

Writes about BYTES bytes of valid JSON-RPC messages to stdout, one per line.

NAME is one of:
  small    requests, notifications and responses of 170 bytes
  tools    tool lists of 13 KB
  base64   results of 270 KB, one base64 string
  source   source text of 34 KB, an eighth of it escape sequences
  text     text of 5 KB, mostly non-ASCII
  numbers  tables of numbers of 17 KB
  session  small messages, with a response to each request
";

/// The number of bytes after which a corpus repeats.
const PERIOD: usize = 8 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let written = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["-h" | "--help"] => io::stdout().write_all(HELP.as_bytes()),
        ["session", bytes] => match bytes.parse() {
            Ok(bytes) => {
                let mut out = BufWriter::new(io::stdout().lock());
                session(bytes, &mut out).and_then(|_| out.flush())
            }
            Err(_) => return misused(),
        },
        [name, bytes] => match (Corpus::named(name), bytes.parse()) {
            (Some(corpus), Ok(bytes)) => write(corpus, bytes),
            _ => return misused(),
        },
        _ => return misused(),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed the pipe: `corpus small 1000000000 | head`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("corpus: failed to write to stdout: {error}");
            ExitCode::FAILURE
        }
    }
}

fn misused() -> ExitCode {
    eprint!("{HELP}");
    ExitCode::from(2)
}

fn write(corpus: Corpus, bytes: u64) -> io::Result<()> {
    let period = corpus.lines(usize::try_from(bytes).map_or(PERIOD, |bytes| bytes.min(PERIOD)));
    let mut out = io::stdout().lock();
    let mut left = bytes;
    while left >= period.len() as u64 {
        out.write_all(&period)?;
        left -= period.len() as u64;
    }
    // Complete the line that BYTES falls into.
    let rest = &period[left as usize..];
    if left > 0
        && let Some(end) = rest.iter().position(|&byte| byte == b'\n')
    {
        out.write_all(&period[..left as usize + end + 1])?;
    }
    out.flush()
}
