//! `Encoder::normalize` on careless texts: the result is accepted, and nothing changes except null params and line
//! breaks.

use crate::common;

use common::Dialect;
use quickcheck::{Arbitrary, Gen, QuickCheck};
use wireline::{Encoder, Frame, Rules, to_line};

/// A careless message or batch: members in any order, blanks and line breaks between all tokens, and params that may be
/// null.
#[derive(Clone, Debug)]
struct Careless {
    is_batch: bool,
    messages: Vec<CarelessMessage>,
    blanks: Vec<&'static str>,
}

#[derive(Clone, Debug)]
struct CarelessMessage {
    /// The text of each, and whether it is to be left out.
    members: Vec<(String, bool)>,
}

impl Arbitrary for CarelessMessage {
    fn arbitrary(g: &mut Gen) -> Self {
        let literal = |g: &mut Gen| {
            let pieces = ["\"", "\\", "\n", "{", ",", "\"params\":null", ",\"params\":null", "é", "text"];
            let text: String = (0..usize::arbitrary(g) % 5).map(|_| *g.choose(&pieces).unwrap()).collect();
            serde_json::to_string(&text).unwrap()
        };
        let mut members = vec![(r#""jsonrpc" : "2.0""#.to_owned(), false)];
        let nothing = ["\"params\":null", "\"params\" :\n null", "\"p\\u0061rams\"\t:\r\nnull"];
        let nothing = (*g.choose(&nothing).unwrap()).to_owned();
        let is_call = bool::arbitrary(g);
        if is_call {
            members.push((format!("\"method\":{}", literal(g)), false));
            match u8::arbitrary(g) % 4 {
                0 => {}
                1 => members.push((format!("\"params\": {{{}:\n null}}", literal(g)), false)),
                _ => members.push((nothing, true)),
            }
        } else {
            let payload = ["\"result\":null", "\"error\":{\"message\":\"params\", \"code\" :\n 1}"];
            members.push(((*g.choose(&payload).unwrap()).to_owned(), false));
            if bool::arbitrary(g) {
                members.push((nothing, false)); // not the params of anything
            }
        }
        if !is_call || bool::arbitrary(g) {
            members.push((format!("\"id\":\r{}", literal(g)), false));
        }
        if bool::arbitrary(g) {
            members.push(("\"Params\": null".to_owned(), false));
        }
        for i in (1..members.len()).rev() {
            members.swap(i, usize::arbitrary(g) % (i + 1));
        }
        Self { members }
    }
}

impl Arbitrary for Careless {
    fn arbitrary(g: &mut Gen) -> Self {
        let is_batch = bool::arbitrary(g);
        let len = if is_batch { 1 + usize::arbitrary(g) % 5 } else { 1 };
        let blanks = ["", "", " ", "\n", "\r\n\t", "  "];
        Self {
            is_batch,
            messages: (0..len).map(|_| Arbitrary::arbitrary(g)).collect(),
            blanks: (0..=usize::arbitrary(g) % 20).map(|_| *g.choose(&blanks).unwrap()).collect(),
        }
    }
}

impl Careless {
    fn text(&self) -> String {
        let mut blanks = self.blanks.iter().cycle();
        let mut blank = || *blanks.next().unwrap();
        let messages = self.messages.iter().map(|message| {
            let members = message.members.iter().map(|(member, _)| format!("{}{member}{}", blank(), blank()));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        });
        let messages = messages.collect::<Vec<_>>().join(" ,\n");
        if self.is_batch { format!("\n[{messages}\r] ") } else { messages }
    }

    /// Whether `line` has the members that should be left, byte for byte but for line breaks, with only blanks in
    /// between.
    fn is_left_in(&self, line: &str) -> bool {
        let is_blank = |c: char| c == ' ' || c == '\t';
        let mut rest = Some(line.trim_start_matches(is_blank));
        let mut expect = |text: &str| {
            rest = rest.and_then(|rest| rest.strip_prefix(text)).map(|rest| rest.trim_start_matches(is_blank));
        };
        if self.is_batch {
            expect("[");
        }
        for (i, message) in self.messages.iter().enumerate() {
            expect(if i > 0 { "," } else { "" });
            expect("{");
            for (i, (member, _)) in message.members.iter().filter(|(_, left_out)| !left_out).enumerate() {
                expect(if i > 0 { "," } else { "" });
                expect(&member.replace(['\n', '\r'], " "));
            }
            expect("}");
        }
        if self.is_batch {
            expect("]");
        }
        rest == Some("\n")
    }
}

#[test]
fn normalizing_leaves_out_null_params_and_nothing_else() {
    fn property(careless: Careless) -> bool {
        let text = careless.text();
        let strict = Rules::json_rpc();
        for rules in [strict, strict.null_params(true)] {
            let line = to_line(&rules, |encoder| encoder.normalize(text.as_bytes())).unwrap();
            let accepted = match Frame::parse(line.text().as_bytes(), &strict) {
                Ok(Frame::Batch(batch)) => batch.iter().all(|entry| entry.is_ok()),
                frame => frame.is_ok(),
            };
            assert!(accepted, "{text:?} became {line:?}");
            let line = str::from_utf8(line.as_bytes()).unwrap();
            assert!(careless.is_left_in(line), "{text:?} became {line:?}");
        }
        // Each by itself, as an entry.
        let entries = careless.messages.iter().map(|message| {
            let alone = Careless { is_batch: false, messages: vec![message.clone()], blanks: careless.blanks.clone() };
            alone.text()
        });
        let batch = to_line(&strict, |encoder| {
            encoder.batch(|batch| entries.clone().try_for_each(|entry| batch.normalize(entry.as_bytes())))
        });
        let batch = batch.unwrap();
        assert!(Frame::parse(batch.text().as_bytes(), &strict).is_ok());
        Careless { is_batch: true, ..careless }.is_left_in(str::from_utf8(batch.as_bytes()).unwrap())
    }
    QuickCheck::new().tests(2000).quickcheck(property as fn(_) -> _);
}

/// A text with other faults than null params is refused and leaves no trace. A valid message is only flattened.
#[test]
fn normalizing_refuses_what_it_should() {
    for case in common::cases() {
        for dialect in Dialect::ALL {
            let rules = dialect.rules();
            let (mut encoder, mut flattening) = (Encoder::new(rules), Encoder::new(rules.null_params(false)));
            let text = &case.line;
            let shown = String::from_utf8_lossy(text);
            let (normalized, flattened) = (encoder.normalize(text), flattening.flatten(text));
            let tolerated = Encoder::new(rules.null_params(true)).flatten(text).is_ok();
            assert_eq!(normalized.is_ok(), tolerated, "{shown}");
            if flattened.is_ok() || normalized.is_err() {
                assert_eq!(encoder.as_bytes(), flattening.as_bytes(), "{shown}");
            }
        }
    }
    let mut encoder = Encoder::new(Rules::json_rpc());
    for text in [
        r#"{"jsonrpc":"2.0","method":"m","params":1}"#,
        r#"{"jsonrpc":"2.0","method":"m","params":nul}"#,
        r#"{"jsonrpc":"2.0","method":"m","params":null,"params":null}"#,
        r#"[{"jsonrpc":"2.0","method":"m","params":null},{"jsonrpc":"2.0","method":"m","params":1}]"#,
        r#"[{"jsonrpc":"2.0","method":"m","params":null},{}]"#,
    ] {
        encoder.normalize(text.as_bytes()).unwrap_err();
        assert!(encoder.as_bytes().is_empty(), "{text}");
    }
}
