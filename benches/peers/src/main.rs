//! Compares wireline with its alternatives in decoding, encoding and relaying, and in whole servers: in one process and one
//! thread, interleaved, best of many rounds. And in whole programs, which are processes or use two threads.
//!
//! Everything is built with the default release profile, like most programs: no link-time optimisation, no
//! `target-cpu`, the default number of codegen units. Libraries that detect the CPU at run time benefit from that.
//! Other profiles change the order of the peers, so the profile `fat` has the other extreme: see the README.

mod agreement;
mod args;
mod beside;
#[cfg(unix)]
mod calls;
mod comparison;
mod contenders;
mod corpora;
mod decode;
mod deserialize;
mod encode;
mod etl;
mod machine;
mod members;
mod progress;
mod relay;
mod report;
mod rounds;
#[cfg(unix)]
mod server;
mod svg;
mod table;

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::{env, fs};

use wireline_corpus::Corpus as Generated;

use crate::args::{Args, HELP, Options};
use crate::beside::Ratios;
use crate::corpora::Corpus;
use crate::report::Report;

fn main() -> ExitCode {
    let done = match args::parse(env::args_os().skip(1)) {
        Ok(Args::Help) => io::stdout().write_all(HELP.as_bytes()).map_err(Into::into),
        Ok(Args::Version) => io::stdout().write_all(machine::versions().as_bytes()).map_err(Into::into),
        #[cfg(unix)]
        Ok(Args::Serve(roles)) => calls::serve(&roles).map_err(Into::into),
        #[cfg(not(unix))]
        Ok(Args::Serve(_)) => Err("--serve needs Unix".into()),
        Ok(Args::Run(options)) => run(&options),
        Err(error) => {
            eprintln!("peers: {error}\nTry peers --help.");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let corpora = corpora(options)?;
    let beside = options.beside.as_deref().map(Ratios::read).transpose()?;
    let mut report = Report::new(io::stdout(), options.markdown, beside);
    report.preface(&options.cpus)?;

    let (mut decoded, mut in_chunks) = (Vec::new(), Vec::new());
    for corpus in corpora {
        let comparison = decode::compare(corpus.clone(), &options.cpus, options.time)?;
        report.comparison("Decoding", &comparison)?;
        decoded.push(comparison);
        for chunk in decode::chunks(&corpus) {
            let comparison = decode::compare_in(chunk, corpus.clone(), &options.cpus, options.time)?;
            report.comparison("Decoding", &comparison)?;
            in_chunks.push(comparison);
        }
    }
    if options.wants(ENCODE) {
        for comparison in encode::compare(options.time) {
            report.comparison("Encoding", &comparison)?;
        }
    }
    if options.wants(DESERIALIZE) {
        for comparison in deserialize::compare(options.time) {
            report.comparison("Deserializing", &comparison)?;
        }
    }
    if options.wants(RELAY) {
        for comparison in relay::compare(options.time) {
            report.comparison("Relaying", &comparison)?;
        }
    }
    #[cfg(unix)]
    if options.wants(SERVER) {
        for comparison in server::compare(options.time) {
            report.comparison("Serving", &comparison)?;
        }
    }
    #[cfg(unix)]
    if options.wants(CALLS) {
        calls::compare(options.time, |heading, table| report.section(heading, table, &[]))?;
    }
    if options.wants(ETL) {
        let (heading, table, notes) = etl::compare(options.time)?;
        report.section(&heading, &table, &notes)?;
    }
    if decoded.len() > 1 {
        report.summary("Decoding, all corpora", &decoded)?;
    }
    if in_chunks.len() > 1 {
        report.summary("Decoding, messages that arrive in several chunks", &in_chunks)?;
    }
    if let Some(file) = &options.save {
        report.ratios().write(file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if let Some(file) = &options.svg {
        let chart = svg::chart(&decoded, &machine::model());
        fs::write(file, chart).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// The other names that `--only` accepts.
const CALLS: &str = "calls";
const DESERIALIZE: &str = "deserialize";
const ENCODE: &str = "encode";
const ETL: &str = "etl";
const RELAY: &str = "relay";
const SERVER: &str = "server";

/// The corpora to decode.
fn corpora(options: &Options) -> Result<Vec<Corpus>, String> {
    let mut corpora: Vec<Corpus> = Generated::ALL.into_iter().map(Corpus::generated).collect();
    for folder in &options.folders {
        let found = Corpus::folder(folder, options.by_name);
        corpora.extend(found.map_err(|error| format!("{}: {error}", folder.display()))?);
    }
    let mut names: Vec<&str> = corpora.iter().map(|corpus| corpus.name.as_str()).collect();
    names.extend([CALLS, DESERIALIZE, ENCODE, ETL, RELAY, SERVER]);
    if let Some(unknown) = options.only.iter().find(|only| !names.contains(&only.as_str())) {
        return Err(format!("unknown name {unknown}; expected one of {}", names.join(", ")));
    }
    corpora.retain(|corpus| options.wants(&corpus.name));
    Ok(corpora)
}

/// Whether the reader closed the pipe: `peers | head`.
fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_an_error() {
        let options = |only: &str| match args::parse(["--only", only]) {
            Ok(Args::Run(options)) => options,
            other => panic!("{other:?}"),
        };
        assert_eq!(corpora(&options("small")).map(|corpora| corpora.len()), Ok(1));
        assert_eq!(corpora(&options(ENCODE)).map(|corpora| corpora.len()), Ok(0));
        let message = corpora(&options("smal")).err().unwrap_or_default();
        assert!(message.starts_with("unknown name smal; expected one of small, tools"), "{message}");
    }
}
