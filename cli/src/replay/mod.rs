//! `wireline replay`: plays one side of a recording against the other.
//!
//! Against a server, a [`Player`] goes through the [`Script`] step by step: it sends what the client sent, and waits for
//! what the server sent. The [`Report`] says what is different. In front of a client, [`as_server`] answers.

mod args;
mod as_server;
mod ignore_rule;
mod new_recording;
mod player;
mod report;
mod script;
mod server_process;

use std::cell::RefCell;
use std::io::{self, BufRead};
use std::path::Path;
use std::rc::Rc;

use wireline::Framing;

pub(crate) use args::Args;

use crate::exit;
use crate::framing::{self, detect};
use crate::input::{Input, Source};
use crate::output::report_error;
use crate::recording::{Content, Reader};
use crate::session::Side;
use crate::spawn::cannot_run;
use crate::terminal::escape;
use new_recording::NewRecording;
use player::Player;
use report::Report;
use script::{Script, StepKind};
use server_process::ServerProcess;

/// Replays the recording, and returns the exit code.
pub(crate) fn run(args: &Args) -> u8 {
    let input = match open(&args.recording) {
        Ok(input) => input,
        Err(message) => return failure(&message),
    };
    if args.as_server { as_server::run(args, input) } else { replay(args, input) }
}

/// Opens a recording.
fn open(path: &Path) -> Result<Box<dyn BufRead>, String> {
    let source = Source::File(path.to_owned());
    let name = source.escaped_name();
    match source.open() {
        Ok(Input::Recording(mut input)) => refuse_other_framings(&mut *input, &name).map(|()| input),
        Ok(_) => Err(format!(
            "{name} is not a recording: a replay needs what both sides sent, and in which order, as `wireline tap --record \
             FILE -- SERVER` writes it"
        )),
        Err(error) => Err(format!("cannot read {name}: {error}")),
    }
}

/// Refuses a recording that starts with messages that aren't lines.
fn refuse_other_framings(input: &mut dyn BufRead, name: &str) -> Result<(), String> {
    // Only looks at it. The last record may be cut.
    let mut reader = Reader::new(input.fill_buf().unwrap_or_default());
    let mut sent = [Vec::new(), Vec::new()];
    while let Ok(Some(entry)) = reader.next() {
        if let Content::Bytes { from, bytes, .. } = entry.content {
            sent[from as usize].extend(bytes);
        }
    }
    for from in Side::BOTH {
        let what = match detect(&sent[from as usize]) {
            Framing::Lines => continue,
            Framing::ContentLength => framing::CONTENT_LENGTH,
            _ => framing::EVENT_STREAM,
        };
        return Err(format!(
            "cannot replay {name}: the {} sends {what}: `wireline replay` understands only messages on a line of their own",
            from.name()
        ));
    }
    Ok(())
}

/// Replays each session against a new server.
fn replay(args: &Args, input: Box<dyn BufRead>) -> u8 {
    let mut script = Script::new(input, args.rules.rules(), args.rules.protocols());
    let mut report = Report::new(args);
    let recording = match args.update.as_deref().map(NewRecording::create).transpose() {
        Ok(recording) => recording.map(|recording| Rc::new(RefCell::new(recording))),
        Err(error) => return failure(&cannot_update(args, &error)),
    };
    let mut is_found = false;
    let mut number = 0;
    let mut has_next = skip_to_start(&mut script);
    while has_next {
        number += 1;
        if args.session.is_some_and(|session| session != number) {
            has_next = skip_to_start(&mut script);
            continue;
        }
        is_found = true;
        let server = match ServerProcess::start(&args.command, args.rules.rules(), recording.clone()) {
            Ok(server) => server,
            Err(error) => {
                discard(recording);
                return failure(&cannot_run(&args.command, &error));
            }
        };
        report.start_session(number);
        match Player::new(args, &mut script, &mut report, server).play() {
            Ok(another) => has_next = another,
            Err(error) => {
                discard(recording);
                return failure(&format!("cannot wait for the server: {error}"));
            }
        }
    }
    let code = report.finish();
    let name = escape(args.recording.as_os_str().as_encoded_bytes());
    match (script.error(), args.session) {
        (Some(error), _) => {
            discard(recording);
            failure(&format!("cannot read {name}: {error}"))
        }
        (None, Some(session)) if !is_found => {
            discard(recording);
            failure(&format!("{name} has no session {session}, only {number}"))
        }
        _ => match recording.and_then(Rc::into_inner).map(RefCell::into_inner).map(NewRecording::finish) {
            Some(Err(error)) => failure(&cannot_update(args, &error)),
            _ => code,
        },
    }
}

fn cannot_update(args: &Args, error: &io::Error) -> String {
    let path = args.update.as_deref().unwrap_or(Path::new(""));
    format!("cannot write {}: {error}", escape(path.as_os_str().as_encoded_bytes()))
}

fn discard(recording: Option<Rc<RefCell<NewRecording>>>) {
    if let Some(recording) = recording.and_then(Rc::into_inner) {
        recording.into_inner().discard();
    }
}

/// Skips to the next session. Returns whether there is one.
fn skip_to_start(script: &mut Script<Box<dyn BufRead>>) -> bool {
    std::iter::from_fn(|| script.next()).any(|step| matches!(step.kind, StepKind::Start))
}

fn failure(message: &str) -> u8 {
    report_error(message);
    exit::FAILURE
}
