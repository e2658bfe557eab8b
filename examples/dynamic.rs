//! Searches JSON-RPC messages for members of a name, at any depth of their payloads, whatever their types.
//!
//! ```console
//! $ cargo run --features simd-json --example dynamic name < examples/session.ndjson
//! 1: /params/clientInfo/name = "reading-room"
//! line 2, column 2: not JSON: expected an object or an array
//! 3: /result/serverInfo/name = "catalogue"
//! ...
//! ```
//!
//! Bad lines are reported on stderr and skipped.

use std::io::{self, BufWriter, Read, Write};

use wireline::dom::simd_json::prelude::*;
use wireline::dom::simd_json::tape;
use wireline::dom::{Parser, simd_json::value::lazy};
use wireline::{Decoder, Frame, Message, Rules};

fn main() -> io::Result<()> {
    let Some(name) = std::env::args().nth(1) else {
        eprintln!("usage: dynamic NAME < MESSAGES");
        std::process::exit(2);
    };
    let mut search = Search { name, parser: Parser::new(), output: BufWriter::new(io::stdout().lock()) };
    let mut decoder = Decoder::new(Rules::json_rpc());
    let mut input = io::stdin().lock();
    while !decoder.is_finished() {
        if decoder.read_with(64 << 10, |room| input.read(room))? == 0 {
            decoder.finish();
        }
        while let Some(frame) = decoder.next_frame() {
            match frame {
                Ok(Frame::Message(message)) => search.message(&message)?,
                Ok(Frame::Batch(batch)) => {
                    for entry in batch {
                        match entry {
                            Ok(message) => search.message(&message)?,
                            Err(fault) => eprintln!("{fault}"),
                        }
                    }
                }
                Err(fault) => eprintln!("{fault}"),
            }
        }
    }
    search.output.flush()
}

struct Search<W> {
    name: String,
    parser: Parser,
    output: W,
}

impl<W: Write> Search<W> {
    fn message(&mut self, message: &Message<'_>) -> io::Result<()> {
        let (path, payload) = match message {
            Message::Request(request) => ("params", request.params()),
            Message::Notification(notification) => ("params", notification.params()),
            Message::Response(response) => match response.outcome() {
                Ok(result) => ("result", Some(result)),
                Err(error) => ("error/data", error.data()),
            },
        };
        let line = message.line();
        match payload.map(|payload| self.parser.parse(&payload)) {
            None => Ok(()),
            Some(Ok(document)) => {
                print(&self.name, line, &mut format!("/{path}"), document.as_value(), &mut self.output)
            }
            Some(Err(error)) => {
                eprintln!("line {line}: {error} of /{path}");
                Ok(())
            }
        }
    }
}

/// Prints the members of `value` with this name. It recurses as deep as the rules allow, which is 128 levels.
fn print(
    name: &str,
    line: u64,
    path: &mut String,
    value: tape::Value<'_, '_>,
    output: &mut impl Write,
) -> io::Result<()> {
    let len = path.len();
    if let Some(members) = value.as_object() {
        for (key, member) in &members {
            path.push('/');
            path.push_str(&key.replace('~', "~0").replace('/', "~1"));
            if key == name {
                // As JSON, so that it neither breaks the line nor controls the terminal.
                let (path, json) = (path.escape_debug(), lazy::Value::from_tape(member).into_value().encode());
                writeln!(output, "{line}: {path} = {json}")?;
            }
            print(name, line, path, member, output)?;
            path.truncate(len);
        }
    } else if let Some(elements) = value.as_array() {
        for (index, element) in elements.iter().enumerate() {
            path.push_str(&format!("/{index}"));
            print(name, line, path, element, output)?;
            path.truncate(len);
        }
    }
    Ok(())
}
