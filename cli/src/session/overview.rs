//! The end of a transcript, and most of `wireline stats`: how much was sent, the table of methods, and the problems.

use std::fmt::{self, Write};
use std::time::Duration;

use clap::builder::styling::Style;

use super::pending::{MAX_ID_LEN, MAX_PENDING};
use super::{MAX_ERROR, MethodIndex, Sample, SentId, Session, Side, cut_id, method_table};
use crate::judge::{Rule, Severity};
use crate::line_ends::{RETURN_HINT, UNTERMINATED_HINT};
use crate::terminal::{Styles, Width, columns, escape, escape_start, wrap};
use crate::units::{Bytes, Count, Seconds, counted};

/// What is left of the width for the method of an unanswered request, and the least.
const UNANSWERED_COLUMNS: usize = 58;
const MIN_METHOD_COLUMNS: usize = 22;

/// How many kinds of failures are listed.
const MAX_FAILURES: usize = 10;

/// Describes a session that lasted `elapsed`, if that is known, in lines that fit. The texts of errors
/// are the peer's own words.
pub(crate) fn overview(
    session: &Session,
    elapsed: Option<Duration>,
    with_texts: bool,
    width: Width,
    styles: Styles,
) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    text.push_str(&traffic(session, elapsed, width, styles));
    text.push_str(&wrapped(&agreement(session), width, ""));
    if !session.methods.is_empty() {
        text.push('\n');
        let _ = method_table::write(&mut text, session, width, styles);
        let approximate = session.methods.iter().filter(|method| method.is_approximate()).count();
        if approximate > 0 {
            let rows = counted(approximate as u64, "row", "rows");
            let error = (100.0 * MAX_ERROR).round();
            let remark = format!("p50, p90 and p99 of {rows} with many calls are within {error} % of the exact ones");
            text.push_str(&wrapped(&remark, width, ""));
        }
    }
    let mut verdict = String::new();
    let _ = write_failures(&mut verdict, session, with_texts, width, styles);
    let failures_len = verdict.len();
    let _ = write_problems(&mut verdict, session, width, styles);
    if verdict.len() == failures_len {
        let _ = write_all_clear(&mut verdict, session, styles);
    }
    let _ = write_remarks(&mut verdict, session, width, styles);
    if !verdict.is_empty() {
        text.push('\n');
        text.push_str(&verdict);
    }
    text
}

/// How much was sent, and in which time.
fn traffic(session: &Session, elapsed: Option<Duration>, width: Width, styles: Styles) -> String {
    let Styles { strong, .. } = styles;
    let [client, server] = &session.traffic;
    let messages = |count| counted(count, "message", "messages");
    let text = match session.has_unknown_senders() {
        true => format!("{}, {}", messages(client.messages + server.messages), Bytes(client.bytes + server.bytes)),
        false => format!(
            "{}{} from the client ({}), {} from the server ({})",
            elapsed.map_or_else(String::new, |elapsed| format!("{}, ", Seconds(elapsed))),
            messages(client.messages),
            Bytes(client.bytes),
            Count(server.messages),
            Bytes(server.bytes)
        ),
    };
    wrap(&text, width.columns().saturating_sub(1)).map(|line| format!("{strong}{line}{strong:#}\n")).collect()
}

/// What both sides agreed on when the session started: `MCP 2025-11-25: inspector 0.9 → everything 1.0`.
fn agreement(session: &Session) -> String {
    let Some(server) = session.hello(Side::Server).or_else(|| session.hello(Side::Client)) else {
        return String::new();
    };
    let name = |side| {
        let program = session.hello(side).map_or("", |hello| hello.program.as_str());
        if program.is_empty() { side.name().to_owned() } else { escape(program.as_bytes()) }
    };
    let version = escape(server.version.as_bytes());
    match session.has_unknown_senders() {
        true => format!("{} {version}", server.protocol),
        false => format!("{} {version}: {} → {}", server.protocol, name(Side::Client), name(Side::Server)),
    }
}

/// What is worth knowing, but is not a fault.
fn write_remarks(text: &mut String, session: &Session, width: Width, styles: Styles) -> fmt::Result {
    let Styles { accent, .. } = styles;
    if session.cancelled.count > 0 {
        writeln!(text, "{} cancelled", counted(session.cancelled.count, "request was", "requests were"))?;
        for request in &session.cancelled.first {
            let after = request.after.map_or_else(String::new, |after| format!("after {}", Seconds(after)));
            write_request(text, session, request.method, &request.id, (&after, Style::new()), width)?;
        }
        if session.cancelled.more() > 0 {
            writeln!(text, "    and {} more", Count(session.cancelled.more()))?;
        }
    }
    for (from, traffic) in Side::BOTH.into_iter().zip(&session.traffic) {
        if traffic.with_return > 0 {
            let lines = counted(traffic.with_return, "line", "lines");
            let verb = if traffic.with_return == 1 { "ends" } else { "end" };
            let sender =
                if session.has_unknown_senders() { String::new() } else { format!(" from the {}", from.name()) };
            writeln!(text, "{accent}{lines}{sender} {verb} in CRLF{accent:#}")?;
            text.push_str(&wrapped(RETURN_HINT, width, "  "));
        }
    }
    Ok(())
}

/// Text in lines that fit.
fn wrapped(text: &str, width: Width, indent: &str) -> String {
    wrap(text, width.columns().saturating_sub(indent.len() + 1)).map(|line| format!("{indent}{line}\n")).collect()
}

/// Which calls failed, and why.
fn write_failures(text: &mut String, session: &Session, with_texts: bool, width: Width, styles: Styles) -> fmt::Result {
    const INDENT: usize = 4;
    let Styles { bad, .. } = styles;
    let failures = &session.failures;
    if failures.count() == 0 {
        return Ok(());
    }
    writeln!(text, "{bad}{}{bad:#}", counted(failures.count(), "call failed", "calls failed"))?;
    let groups = failures.groups();
    let mut more = failures.others;
    for (number, group) in groups.into_iter().enumerate() {
        if number >= MAX_FAILURES {
            more += group.count;
            continue;
        }
        let method = &session.methods[group.method];
        let arrow = if session.has_unknown_senders() { ' ' } else { method.from.arrow() };
        let line = format!("{} {}: {}", method.name, group.which(width), group.reason.summary(with_texts));
        // Escaped already, and escaping it again changes nothing.
        writeln!(
            text,
            "  {arrow} {}",
            escape_start(line.as_bytes(), width.cut_to(width.columns().saturating_sub(INDENT + 1)))
        )?;
    }
    if more > 0 {
        writeln!(text, "    and {} more", Count(more))?;
    }
    Ok(())
}

fn write_problems(text: &mut String, session: &Session, width: Width, styles: Styles) -> fmt::Result {
    let Styles { bad, .. } = styles;
    write_unanswered(text, session, width, styles)?;
    for (from, traffic) in Side::BOTH.into_iter().zip(&session.traffic) {
        if let Some(len) = traffic.unterminated {
            let len = counted(len, "byte", "bytes");
            let what = match session.has_unknown_senders() {
                true => format!("the last line ({len}) has no line end"),
                false => format!("the last line of the {} ({len}) has no line end", from.name()),
            };
            for line in wrap(&what, width.columns().saturating_sub(1)) {
                writeln!(text, "{bad}{line}{bad:#}")?;
            }
            text.push_str(&wrapped(UNTERMINATED_HINT, width, "  "));
        }
    }
    for (sample, singular, plural) in [
        (&session.unmatched, "response matches no request", "responses match no request"),
        (&session.reused, "request reuses the id of a pending one", "requests reuse the id of a pending one"),
    ] {
        if sample.count > 0 {
            writeln!(text, "{bad}{}{bad:#}", counted(sample.count, singular, plural))?;
            text.push_str(&wrapped(&first_ids(sample, session.has_unknown_senders(), width), width, "  "));
        }
    }
    if session.other_type > 0 {
        let what = counted(session.other_type, "of them has", "of them have");
        text.push_str(&wrapped(&format!("{what} the id of a pending request, but of the other type"), width, "  "));
    }
    if session.untracked > 0 {
        let requests = counted(session.untracked, "request was", "requests were");
        text.push_str(&wrapped(&format!("{requests} not tracked, so responses to them count as unmatched"), width, ""));
        let (limit, len) = (Count(MAX_PENDING as u64), Bytes(MAX_ID_LEN as u64));
        text.push_str(&wrapped(&format!("(limits: {limit} pending requests per side, ids of {len})"), width, "  "));
    }
    let faults: u64 = session.traffic.iter().map(|traffic| traffic.faults).sum();
    if faults > 0 {
        let what = counted(faults, "faulty line or batch entry", "faulty lines or batch entries");
        writeln!(text, "{bad}{what}{bad:#}")?;
        for (from, kind, count) in session.faults() {
            let arrow = if session.has_unknown_senders() { ' ' } else { from.arrow() };
            writeln!(text, "  {arrow} {:>5} {}", Count(count), kind.name())?;
        }
    }
    write_findings(text, session, styles)
}

/// Whether the overview says in its own words how often a rule was broken.
pub(crate) fn tells(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::UnansweredRequest
            | Rule::UnansweredAtEnd
            | Rule::SecondAnswer
            | Rule::UnknownAnswer
            | Rule::AnswerIdType
            | Rule::ReusedId
    )
}

/// Writes which other rules were broken, and how often.
fn write_findings(text: &mut String, session: &Session, styles: Styles) -> fmt::Result {
    let Styles { bad, accent, .. } = styles;
    for (severity, style, singular, plural) in [
        (Severity::Error, bad, "rule is broken", "rules are broken"),
        (Severity::Warning, accent, "warning", "warnings"),
    ] {
        let findings = session.findings.iter().filter(|((rule, _), _)| rule.severity() == severity && !tells(*rule));
        let findings: Vec<_> = findings.collect();
        if !findings.is_empty() {
            writeln!(text, "{style}{}{style:#}", counted(findings.len() as u64, singular, plural))?;
        }
        for ((rule, from), count) in findings {
            writeln!(text, "  {} {:>5} {}", from.arrow(), Count(*count), rule.name())?;
        }
    }
    Ok(())
}

fn write_unanswered(text: &mut String, session: &Session, width: Width, styles: Styles) -> fmt::Result {
    let Styles { bad, dim, .. } = styles;
    let unanswered = &session.unanswered;
    if unanswered.count == 0 {
        return Ok(());
    }
    let what = match session.has_unknown_senders() {
        true => {
            counted(unanswered.count, "request has no response in the input", "requests have no response in the input")
        }
        false => counted(unanswered.count, "request was never answered", "requests were never answered"),
    };
    writeln!(text, "{bad}{what}{bad:#}")?;
    for request in &unanswered.first {
        let times = request.times.map_or_else(String::new, |(sent, before_end)| {
            format!("sent at {:.3} s, {} before the end", sent.as_secs_f64(), Seconds(before_end))
        });
        write_request(text, session, request.method, &request.id, (&times, dim), width)?;
    }
    if unanswered.more() > 0 {
        writeln!(text, "    and {} more", Count(unanswered.more()))?;
    }
    Ok(())
}

/// Writes one line about a request: its method and id, and when it was, or that below if it does not fit.
fn write_request(
    text: &mut String,
    session: &Session,
    method: MethodIndex,
    id: &str,
    (times, style): (&str, Style),
    width: Width,
) -> fmt::Result {
    const INDENT: usize = 4;
    let method = &session.methods[method];
    let arrow = if session.has_unknown_senders() { ' ' } else { method.from.arrow() };
    let id = cut_id(id, width);
    let room = width.columns().saturating_sub(UNANSWERED_COLUMNS).max(MIN_METHOD_COLUMNS);
    let room = room.min(width.columns().saturating_sub(INDENT + 1 + columns(&id) + 1));
    let name = escape_start(method.name.as_bytes(), width.cut_to(room));
    write!(text, "  {arrow} {name} {id}")?;
    let taken = INDENT + columns(&name) + 1 + columns(&id);
    if times.is_empty() {
        writeln!(text)
    } else if taken + 2 + columns(times) < width.limit() {
        writeln!(text, "{style}, {times}{style:#}")
    } else {
        writeln!(text)?;
        let lines = wrap(times, width.columns().saturating_sub(INDENT + 1));
        lines.into_iter().try_for_each(|line| writeln!(text, "{:INDENT$}{style}{line}{style:#}", ""))
    }
}

/// Writes that there are no problems, unless there are no messages either.
fn write_all_clear(text: &mut String, session: &Session, styles: Styles) -> fmt::Result {
    let Styles { good, .. } = styles;
    if session.traffic.iter().all(|traffic| traffic.messages == 0) {
        return Ok(());
    }
    let has_requests = session.methods.iter().any(|method| method.requests > 0);
    let answered = if has_requests { ", every request was answered" } else { "" };
    writeln!(text, "{good}no faults{answered}{good:#}")
}

fn first_ids<const MAX: usize>(sample: &Sample<SentId, MAX>, has_unknown_senders: bool, width: Width) -> String {
    let ids: Vec<String> = sample
        .first
        .iter()
        .map(|SentId { from, id }| {
            let id = if id.is_empty() { "without an id".into() } else { cut_id(id, width) };
            if has_unknown_senders { id.into_owned() } else { format!("{} {id}", from.arrow()) }
        })
        .collect();
    let rest = if sample.more() > 0 { ", …" } else { "" };
    format!("{}{rest}", ids.join(", "))
}
