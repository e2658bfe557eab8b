//! A command for a shell that sends the bytes of a script to a server.

use std::ffi::OsString;
use std::fmt::Write as _;

use super::handshake::Handshake;
use super::profile::Profile;
use super::script::{Chunks, Line, Script, Start, Step, bytes};

/// A run of equal bytes that is long enough to be made by a program.
const LONG_RUN: usize = 200;

/// How many equal requests are worth a loop.
const MANY: usize = 4;

/// What is written before the script, with waits between.
fn opening(script: &Script, profile: &Profile) -> Vec<Vec<Line>> {
    if script.setup.start == Start::Nothing {
        return Vec::new();
    }
    let handshake = Handshake::new(profile);
    let mut parts = Vec::new();
    if script.setup.start == Start::ByteOrderMark {
        parts.push(vec![Line::new(format!("\u{feff}{}", Handshake::with_id(profile, "0").request))]);
    }
    parts.push(vec![Line::new(handshake.request)]);
    if !handshake.rest.is_empty() {
        parts.push(handshake.rest.into_iter().map(Line::new).collect());
    }
    parts
}

/// The lines of a script and its handshake in one, if nothing has to be waited for in between.
pub(super) fn in_one_write(script: &Script, profile: &Profile) -> Option<Script> {
    let is_simple = script.steps.iter().all(|step| matches!(step, Step::Send(..) | Step::Await | Step::Close));
    if !is_simple {
        return None;
    }
    let lines: Vec<Line> = opening(script, profile).into_iter().flatten().chain(script.lines().cloned()).collect();
    let mut whole = Script { steps: vec![Step::Send(lines, Chunks::Whole)], ..script.clone() }.closing();
    whole.setup.start = Start::Nothing;
    Some(whole)
}

/// The command for a script that sends everything in one write and closes the input.
pub(super) fn short(whole: &Script, server: &[OsString]) -> String {
    let lines: Vec<Line> = whole.lines().cloned().collect();
    let commands = print(&lines);
    let commands = match &commands[..] {
        [command] => command.clone(),
        _ => format!("{{ {}; }}", commands.join("; ")),
    };
    format!("{commands} | {}", words(server))
}

/// The command for any script. Where the script waits, the command sleeps.
pub(super) fn long(script: &Script, profile: &Profile, server: &[OsString]) -> String {
    let mut commands = Vec::new();
    for lines in opening(script, profile) {
        commands.extend(print(&lines));
        commands.push("sleep 1".to_owned());
    }
    for step in &script.steps {
        match step {
            Step::Send(lines, chunks) => {
                let all = bytes(lines);
                let ends = chunks.ends(lines);
                if ends.is_empty() || ends.len() > 20 {
                    commands.extend(print(lines));
                    continue;
                }
                let mut start = 0;
                for end in ends.into_iter().chain([all.len()]) {
                    commands.extend([format!("printf '{}'", escaped(&all[start..end])), "sleep 0.1".to_owned()]);
                    start = end;
                }
            }
            Step::Await => commands.push("sleep 1".to_owned()),
            Step::StopReading | Step::Resume | Step::Close => {}
        }
    }
    if commands.last().is_some_and(|last| last.starts_with("sleep")) {
        commands.pop();
    }
    if !script.is_closing() {
        // Keeps the input open.
        commands.push("sleep 2".to_owned());
    }
    let reader = if script.steps.contains(&Step::StopReading) { " | { sleep 2; cat; }" } else { "" };
    format!("{{ {}; }} | {}{reader}", commands.join("; "), words(server))
}

/// Commands that print lines.
fn print(lines: &[Line]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut plain: Vec<u8> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let (count, first) = numbered(&lines[at..]);
        if count >= MANY {
            flush(&mut plain, &mut commands);
            let line = String::from_utf8_lossy(&lines[at].text).replacen(&format!("\"id\":{first}"), "\"id\":\u{1}", 1);
            let format = escaped(format!("{line}\n").as_bytes()).replace("\\001", "%d");
            commands.push(format!("printf '{format}' $(seq {first} {})", first + count as u64 - 1));
            at += count;
        } else {
            lines[at].write_to(&mut plain);
            at += 1;
        }
    }
    flush(&mut plain, &mut commands);
    commands
}

/// How many lines at the start are alike except for ids that count up, and the first of those.
fn numbered(lines: &[Line]) -> (usize, u64) {
    let text = String::from_utf8_lossy(&lines[0].text).into_owned();
    let Some(at) = text.find("\"id\":").map(|at| at + 5) else { return (0, 0) };
    let digits = text[at..].find(|character: char| !character.is_ascii_digit()).unwrap_or(0);
    let Ok(first) = text[at..at + digits].parse::<u64>() else { return (0, 0) };
    let expected = |number: u64| format!("{}{number}{}", &text[..at], &text[at + digits..]).into_bytes();
    let count = lines.iter().zip(first..).take_while(|(line, number)| **line == Line::new(expected(*number))).count();
    (count, first)
}

/// Moves bytes into commands that print them.
fn flush(plain: &mut Vec<u8>, commands: &mut Vec<String>) {
    let mut rest = &plain[..];
    while !rest.is_empty() {
        let (start, len) = long_run(rest).unwrap_or((rest.len(), 0));
        if start > 0 {
            commands.push(format!("printf '{}'", escaped(&rest[..start])));
        }
        if len > 0 {
            commands.push(format!("head -c {len} /dev/zero | tr '\\0' '{}'", escaped(&rest[start..=start])));
        }
        rest = &rest[start + len..];
    }
    plain.clear();
}

/// Where a long run of one byte starts, and its length.
fn long_run(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut start = 0;
    for at in 1..=bytes.len() {
        if bytes.get(at) != Some(&bytes[start]) {
            if at - start >= LONG_RUN && bytes[start].is_ascii_alphanumeric() | b"[]".contains(&bytes[start]) {
                return Some((start, at - start));
            }
            start = at;
        }
    }
    None
}

/// The format of a `printf` that prints these bytes, for single quotes.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\\' => text.push_str("\\\\"),
            b'%' => text.push_str("%%"),
            b'\'' => text.push_str("'\\''"),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    text
}

/// A command line, quoted where a shell needs it.
pub(super) fn words(command: &[OsString]) -> String {
    let words = command.iter().map(|word| {
        let word = crate::terminal::escape(word.as_encoded_bytes());
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./=:,@%+".contains(&byte);
        if !word.is_empty() && word.bytes().all(is_plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_printed_exactly() {
        let request = |id: u32| Line::new(format!("{{\"id\":{id}}}"));
        for (lines, expected) in [
            (vec![Line::new("a'b%\\\u{e9}\u{0}")], r"printf 'a'\''b%%\\\303\251\000\n'"),
            (vec![request(1), request(2)], r#"printf '{"id":1}\n{"id":2}\n'"#),
            ((1..=37).map(request).collect(), r#"printf '{"id":%d}\n' $(seq 1 37)"#),
            (
                vec![Line::new(format!("<{}>", "x".repeat(1000)))],
                r"printf '<'; head -c 1000 /dev/zero | tr '\0' 'x'; printf '>\n'",
            ),
        ] {
            assert_eq!(print(&lines).join("; "), expected);
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_shell_prints_the_same_bytes() {
        let lines = [
            Line::new("plain 'quotes' %d \\n \u{e9} \u{1}1"),
            Line::new([0xff, 0, 7]),
            Line::new("y".repeat(5000)),
            Line::new("{\"id\":8,\"note\":\"100%\"}"),
            Line::new("{\"id\":9,\"note\":\"100%\"}"),
            Line::new("{\"id\":10,\"note\":\"100%\"}"),
            Line::new("{\"id\":11,\"note\":\"100%\"}"),
        ];
        let output = std::process::Command::new("sh").args(["-c", &print(&lines).join("; ")]).output().unwrap();
        assert_eq!(output.stdout, bytes(&lines));
    }

    #[test]
    fn words_of_a_shell() {
        let words = |command: &[&str]| words(&command.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(words(&["sh", "-c", "echo 'a b'", ""]), r"sh -c 'echo '\''a b'\''' ''");
    }
}
