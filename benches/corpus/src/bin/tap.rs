//! Measures the cost of `wireline tap`, compared with `cat` in its place and with a direct connection.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use wireline_corpus::Corpus;

const HELP: &str = "\
Usage: tap WIRELINE [ROUNDS]

Measures a connection between a client and a server with nothing in between, with a `cat` for each direction, and with
`wireline tap` logging to /dev/null, where WIRELINE is the path of the binary. Each is measured in turn, ROUNDS times
[default: 20], and the best round counts.

  latency     the median of 2000 round trips of an 83-byte message, and the time added per message
  throughput  256 MB of large messages sent to a server that discards them
";

/// Round trips per round.
const MESSAGES: usize = 2000;

/// Bytes sent to the server per round.
const BYTES: usize = 256 << 20;

/// The corpora with large messages.
const LARGE: [Corpus; 3] = [Corpus::Tools, Corpus::Base64, Corpus::Source];

/// What is between client and server.
const BETWEEN: [&str; 3] = ["nothing", "cat", "wireline tap"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (wireline, rounds) = match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["-h" | "--help"] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        [wireline] => (wireline.to_string(), Some(20)),
        [wireline, rounds] => (wireline.to_string(), rounds.parse().ok().filter(|rounds| *rounds > 0)),
        _ => (String::new(), None),
    };
    let Some(rounds) = rounds else {
        eprint!("{HELP}");
        return ExitCode::from(2);
    };
    match latency(&wireline, rounds).and_then(|()| throughput(&wireline, rounds)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tap: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts a server with `between` in front of it. The shell's `exec` avoids an extra process.
fn start(between: &str, server: &str, wireline: &str) -> io::Result<Child> {
    let line = match between {
        "nothing" => format!("exec {server}"),
        "cat" => format!("cat | {server} | cat"),
        _ => format!("exec '{wireline}' tap --log /dev/null -- {server}"),
    };
    Command::new("sh").args(["-c", &line]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

fn latency(wireline: &str, rounds: usize) -> io::Result<()> {
    let lines = Corpus::Small.lines(4096);
    let message = lines.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut servers = Vec::new();
    for between in BETWEEN {
        servers.push(start(between, "cat", wireline)?);
    }
    let mut best = [Duration::MAX; 3];
    for _ in 0..rounds {
        for (server, best) in servers.iter_mut().zip(&mut best) {
            *best = (*best).min(median_round_trip(server, message)?);
        }
    }
    println!("latency: round trip of {} bytes, best median of {rounds} rounds", message.len());
    for (between, time) in BETWEEN.iter().zip(best) {
        let added = time.saturating_sub(best[0]).as_secs_f64() * 1e6 / 2.0;
        println!("  {between:<14} {:>7.1} µs  {added:+7.1} µs per message", time.as_secs_f64() * 1e6);
    }
    for mut server in servers {
        drop(server.stdin.take());
        server.wait()?;
    }
    Ok(())
}

fn median_round_trip(server: &mut Child, message: &[u8]) -> io::Result<Duration> {
    let (Some(stdin), Some(stdout)) = (&mut server.stdin, &mut server.stdout) else {
        return Err(io::Error::other("expected a server with standard streams"));
    };
    let mut back = vec![0; message.len()];
    let mut times = Vec::with_capacity(MESSAGES);
    for _ in 0..MESSAGES {
        let started = Instant::now();
        stdin.write_all(message)?;
        stdout.read_exact(&mut back)?;
        times.push(started.elapsed());
        assert!(back == message, "the message came back changed");
    }
    times.sort();
    Ok(times[MESSAGES / 2])
}

fn throughput(wireline: &str, rounds: usize) -> io::Result<()> {
    println!("throughput: {} MB to the server, best of {rounds} rounds", BYTES >> 20);
    for corpus in LARGE {
        let lines = corpus.lines(8 << 20);
        let mut best = [Duration::MAX; 3];
        for _ in 0..rounds {
            for (between, best) in BETWEEN.iter().zip(&mut best) {
                let mut server = start(between, "wc -c", wireline)?;
                let mut stdin = server.stdin.take().ok_or_else(|| io::Error::other("expected a standard input"))?;
                let started = Instant::now();
                for _ in 0..BYTES / lines.len() {
                    stdin.write_all(&lines)?;
                }
                drop(stdin);
                let output = server.wait_with_output()?;
                *best = (*best).min(started.elapsed());
                let count = String::from_utf8_lossy(&output.stdout).trim().parse();
                assert_eq!(count, Ok(BYTES / lines.len() * lines.len()), "the server did not receive everything");
            }
        }
        print!("  {:<8}", corpus.name());
        for (between, time) in BETWEEN.iter().zip(best) {
            print!("  {between} {:.2} GB/s", (BYTES / lines.len() * lines.len()) as f64 / time.as_secs_f64() / 1e9);
        }
        println!();
    }
    Ok(())
}
