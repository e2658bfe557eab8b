//! With feature `tracing`, faults and refusals are emitted as events that contain no message contents.
#![cfg(feature = "tracing")]

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id as SpanId, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};
use wireline::{Decoder, Encoder, Frame, Id, Rules};

/// A subscriber that records each event with its fields.
#[derive(Clone, Default)]
struct Notebook(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Notebook {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0.trim_end().to_owned());
    }

    fn new_span(&self, _: &Attributes<'_>) -> SpanId {
        SpanId::from_u64(1)
    }

    fn record(&self, _: &SpanId, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &SpanId, _: &SpanId) {}

    fn enter(&self, _: &SpanId) {}

    fn exit(&self, _: &SpanId) {}
}

/// The events that `run` emits.
fn events_of(run: impl FnOnce()) -> Vec<String> {
    let notebook = Notebook::default();
    // While there is only one subscriber, and another thread is the first to emit an event, tracing asks only that
    // thread's subscriber. It has none, so the event would be turned off for all threads.
    let _second = Dispatch::new(Notebook::default());
    tracing::subscriber::with_default(notebook.clone(), run);
    let events = notebook.0.lock().unwrap();
    events.clone()
}

#[test]
fn faults_and_refusals_are_events() {
    let events = events_of(|| {
        let mut decoder = Decoder::new(Rules::json_rpc());
        decoder.feed(b"{\"jsonrpc\":\"2.0\",\"id\":\"hunter2\",\"method\":1}\nhunter2 says hello\n[{\"hunter2\":1}]\n");
        assert!(decoder.next_frame().unwrap().is_err());
        assert!(decoder.next_frame().unwrap().is_err());
        let Frame::Batch(batch) = decoder.next_frame().unwrap().unwrap() else { panic!() };
        // Entries can be iterated any number of times, so this emits no events.
        assert!(batch.iter().next().unwrap().is_err());
        assert!(Encoder::new(Rules::mcp()).response(&Id::from("hunter2"), "hunter2").is_err());
    });
    assert_eq!(
        events,
        [
            "message=faulty line kind=\"invalid-method\" code=-32600 line=1 column=42 offset=0 has_id=true answered=true",
            "message=faulty line kind=\"invalid-literal\" code=-32700 line=2 column=1 offset=44 hint=\"log-text\" has_id=false answered=true",
            "message=message refused reason=\"result\" must be an object offset=41",
        ]
    );
}

/// A salvaged message is no fault: a connection emits one event, for the noise.
#[test]
fn skipped_noise_is_an_event() {
    let stream = &b"\nhunter2\r{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n"[..];
    let events = events_of(|| {
        wireline::io::serve(stream, std::io::sink(), Rules::json_rpc().salvage(true), |_| Ok(())).unwrap();
    });
    assert_eq!(events, ["message=noise before a message skipped=8 line=2 offset=1"]);
}

/// `serve` reads each entry of a batch once, and so reports it once.
#[test]
fn serve_emits_an_event_for_a_faulty_entry() {
    let batch = &b"[{\"hunter2\":1},{\"jsonrpc\":\"2.0\",\"method\":\"m\"}]\n"[..];
    let events = events_of(|| {
        wireline::io::serve(batch, std::io::sink(), Rules::json_rpc(), |_| Ok(())).unwrap();
    });
    let expected =
        "message=faulty line kind=\"missing-version\" code=-32600 line=1 column=2 offset=0 has_id=false answered=true";
    assert_eq!(events, [expected]);
}
