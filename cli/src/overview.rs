//! A session in a table, and what was wrong with it.

use std::fmt::Write;
use std::time::Duration;

use crate::colours::Colours;
use crate::excerpt::{cut, width as columns};
use crate::session::{Few, Method, Octaves, Session};
use crate::units::{Count, Size, Span};

/// How many columns the numbers of the table take.
const NUMBERS: usize = 52;

/// How long the longest bar of a histogram is.
const BAR: u64 = 40;

/// Text about `session`, which lasted `elapsed` if that is known, in lines of `width` columns.
pub(crate) fn overview(session: &Session, elapsed: Option<Duration>, width: usize, colours: Colours) -> String {
    let mut text = String::new();
    // A string takes whatever is written to it.
    let _ = write_traffic(&mut text, session, elapsed, colours);
    if !session.methods.is_empty() {
        text.push('\n');
        let _ = write_methods(&mut text, session, width, colours);
    }
    let _ = write_remarks(&mut text, session, colours);
    text
}

fn write_traffic(
    text: &mut String,
    session: &Session,
    elapsed: Option<Duration>,
    colours: Colours,
) -> std::fmt::Result {
    let Colours { place, .. } = colours;
    let [client, server] = &session.traffic;
    if session.was_mixed() {
        let messages = counted(client.messages + server.messages, "message", "messages");
        let size = Size(client.bytes + server.bytes);
        return writeln!(text, "{place}{messages}, {size}{place:#}");
    }
    write!(text, "{place}")?;
    if let Some(elapsed) = elapsed {
        write!(text, "{}, ", Span(elapsed))?;
    }
    write!(text, "{} from the client ({}), ", counted(client.messages, "message", "messages"), Size(client.bytes))?;
    writeln!(text, "{} from the server ({}){place:#}", Count(server.messages), Size(server.bytes))
}

fn write_methods(text: &mut String, session: &Session, width: usize, colours: Colours) -> std::fmt::Result {
    let Colours { bad, quiet, .. } = colours;
    let mut methods: Vec<&Method> = session.methods.iter().collect();
    methods.sort_by_key(|method| (method.from as u8, std::cmp::Reverse(method.requests + method.notifications)));
    let longest = methods.iter().map(|method| columns(&method.name) + 2).max().unwrap_or(0);
    let name_width = longest.max("method".len()).min(width.saturating_sub(NUMBERS + 1).max(16));

    let titles = ["p50", "p90", "p99", "max", "bytes"].map(|title| format!("{title:>7}")).concat();
    writeln!(text, "{quiet}{:name_width$} {:>9} {:>6}{titles}{quiet:#}", "method", "calls", "errors")?;
    for method in methods {
        let arrow = if session.was_mixed() { String::new() } else { format!("{} ", method.from.arrow()) };
        let name = cut(method.name.as_bytes(), name_width - columns(&arrow));
        let gap = " ".repeat(name_width - columns(&arrow) - columns(&name));
        let calls = Count(method.requests + method.notifications);
        write!(text, "{arrow}{name}{gap} {calls:>9} ")?;
        match method.errors {
            _ if method.requests == 0 => write!(text, "{:>6}", "–")?,
            0 => write!(text, "{:>6}", 0)?,
            errors => write!(text, "{bad}{:>6}{bad:#}", Count(errors))?,
        }
        for quantile in [0.5, 0.9, 0.99, 1.0] {
            let latency = method.latency(quantile).map_or_else(|| "–".to_owned(), |latency| dense(&Span(latency)));
            write!(text, "{latency:>7}")?;
        }
        writeln!(text, "{:>7}", dense(&Size(method.bytes)))?;
    }
    Ok(())
}

fn write_remarks(text: &mut String, session: &Session, colours: Colours) -> std::fmt::Result {
    let Colours { bad, good, quiet, .. } = colours;
    let mut remarks = String::new();

    let unanswered = &session.unanswered;
    if unanswered.count > 0 {
        let what = match session.was_mixed() {
            true => counted(unanswered.count, "request has no answer here", "requests have no answer here"),
            false => counted(unanswered.count, "request was never answered", "requests were never answered"),
        };
        writeln!(remarks, "{bad}{what}{bad:#}")?;
        for open in &unanswered.named {
            let method = &session.methods[open.method];
            let arrow = if session.was_mixed() { ' ' } else { method.from.arrow() };
            write!(remarks, "  {arrow} {} {}", cut(method.name.as_bytes(), 22), open.id)?;
            if let Some((at, waited)) = open.times {
                write!(remarks, "{quiet}, at {:.3}, {} before the end{quiet:#}", at.as_secs_f64(), Span(waited))?;
            }
            writeln!(remarks)?;
        }
        let more = unanswered.count - unanswered.named.len() as u64;
        if more > 0 {
            writeln!(remarks, "    and {} more", Count(more))?;
        }
    }
    if session.cancelled > 0 {
        writeln!(remarks, "{} cancelled", counted(session.cancelled, "request was", "requests were"))?;
    }
    for (few, one, more) in [
        (&session.strays, "answer to nothing that was asked", "answers to nothing that was asked"),
        (&session.doubles, "id used again before its answer", "ids used again before their answers"),
    ] {
        if few.count > 0 {
            writeln!(remarks, "{bad}{}{bad:#}", counted(few.count, one, more))?;
            writeln!(remarks, "  {}", named(few, session.was_mixed()))?;
        }
    }
    if session.unfollowed > 0 {
        let requests = counted(session.unfollowed, "request was", "requests were");
        writeln!(remarks, "{requests} beyond what can be followed: answers to them count as answers to nothing")?;
    }
    let faults: u64 = session.traffic.iter().map(|traffic| traffic.faults).sum();
    if faults > 0 {
        writeln!(remarks, "{bad}{}{bad:#}", counted(faults, "faulty line or entry", "faulty lines or entries"))?;
        for (from, kind, count) in session.faults() {
            let arrow = if session.was_mixed() { ' ' } else { from.arrow() };
            writeln!(remarks, "  {arrow} {:>5} {}", Count(count), kind.name())?;
        }
    }
    let has_messages = session.traffic.iter().any(|traffic| traffic.messages > 0);
    if remarks.is_empty() && has_messages {
        let requests = session.methods.iter().any(|method| method.requests > 0);
        let answered = if requests { ", and every request was answered" } else { "" };
        writeln!(remarks, "{good}every line is fine{answered}{good:#}")?;
    }
    if !remarks.is_empty() {
        text.push('\n');
        text.push_str(&remarks);
    }
    Ok(())
}

/// Bars for how many numbers there are between powers of two. Nothing if there are none.
pub(crate) fn histogram(title: &str, octaves: &Octaves, unit: fn(u64) -> String, colours: Colours) -> String {
    let Colours { place, hint, quiet, .. } = colours;
    let mut text = String::new();
    let Some(first) = octaves.iter().position(|count| *count > 0) else { return text };
    let last = octaves.iter().rposition(|count| *count > 0).unwrap_or(first);
    let most = octaves.iter().copied().max().unwrap_or(1);
    let total: u64 = octaves.iter().sum();
    let _ = writeln!(text, "{place}{title}{place:#}");
    for (octave, &count) in octaves.iter().enumerate().take(last + 1).skip(first) {
        let below = unit(1u64.checked_shl(octave as u32).unwrap_or(u64::MAX));
        let bar = bar(count, most);
        let gap = " ".repeat(BAR as usize - bar.chars().count());
        let share = count as f64 * 100.0 / total as f64;
        let _ =
            writeln!(text, "  < {below:>7} {hint}{bar}{hint:#}{gap} {:>9} {quiet}{share:5.1}%{quiet:#}", Count(count));
    }
    text
}

/// A bar of eighths of a column. What is not zero can be seen.
fn bar(count: u64, most: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (u128::from(count) * u128::from(BAR) * 8).div_ceil(u128::from(most.max(1))) as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn named(few: &Few, is_mixed: bool) -> String {
    let named: Vec<String> = few
        .named
        .iter()
        .map(|(from, id)| {
            let id = if id.is_empty() { "without an id" } else { id };
            if is_mixed { id.to_owned() } else { format!("{} {id}", from.arrow()) }
        })
        .collect();
    let rest = if few.count > few.named.len() as u64 { ", …" } else { "" };
    format!("{}{rest}", named.join(", "))
}

fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{} {}", Count(count), if count == 1 { one } else { more })
}

/// Without the space between number and unit.
fn dense(quantity: &impl std::fmt::Display) -> String {
    quantity.to_string().replace(' ', "")
}
