//! The table of methods, and of what their calls are about: calls, failures, latencies and sizes.

use std::cmp::Reverse;
use std::fmt::{self, Display, Write};

use super::Session;
use super::methods::Method;
use crate::terminal::{Styles, Width, columns, escape_start};
use crate::units::{Bytes, Count, Seconds, counted};

/// How many subjects of a method have a row of their own.
const MAX_SUBJECTS: usize = 20;

/// The narrowest column of names.
const MIN_NAME_WIDTH: usize = 16;

/// Stands for a number that does not exist.
const NONE: &str = "–";

/// A column of numbers.
#[derive(Clone, Copy)]
struct Column {
    title: &'static str,
    /// With the space before it.
    width: usize,
    value: Value,
    /// Columns with the highest value are left out first if the terminal is narrow.
    dispensability: u8,
}

#[derive(Clone, Copy)]
enum Value {
    Calls,
    Failures,
    Latency(f64),
    Bytes,
}

const COLUMNS: [Column; 7] = [
    Column { title: "calls", width: 10, value: Value::Calls, dispensability: 0 },
    Column { title: "failed", width: 7, value: Value::Failures, dispensability: 1 },
    // Units without a space leave one column between the numbers.
    Column { title: "p50", width: 7, value: Value::Latency(0.5), dispensability: 2 },
    Column { title: "p90", width: 7, value: Value::Latency(0.9), dispensability: 6 },
    Column { title: "p99", width: 7, value: Value::Latency(0.99), dispensability: 5 },
    Column { title: "max", width: 7, value: Value::Latency(1.0), dispensability: 3 },
    Column { title: "bytes", width: 7, value: Value::Bytes, dispensability: 4 },
];

/// Writes the table in lines that fit, as far as a table can be so narrow.
pub(super) fn write(text: &mut String, session: &Session, width: Width, styles: Styles) -> fmt::Result {
    let Styles { dim, .. } = styles;
    let columns_that_fit = fitting_columns(width.columns());
    let rows = rows(session);
    let numbers_width: usize = columns_that_fit.iter().map(|column| column.width).sum();
    let longest = rows.iter().map(|row| columns(&row.name)).max().unwrap_or(0);
    let room = width.cut_to(width.columns().saturating_sub(numbers_width + 1).max(MIN_NAME_WIDTH));
    let name_width = longest.max("method".len()).min(room);

    write!(text, "{dim}{:name_width$}", "method")?;
    for Column { title, width, .. } in &columns_that_fit {
        write!(text, "{title:>width$}")?;
    }
    writeln!(text, "{dim:#}")?;

    for Row { name, method } in rows {
        // Names are escaped already, and escaping them again changes nothing.
        let name = escape_start(name.as_bytes(), name_width);
        let gap = " ".repeat(name_width - columns(&name));
        let Some(method) = method else {
            writeln!(text, "{dim}{name}{dim:#}")?;
            continue;
        };
        write!(text, "{name}{gap}")?;
        for Column { width, value, .. } in &columns_that_fit {
            write_number(text, method, *value, *width, styles)?;
        }
        writeln!(text)?;
    }
    Ok(())
}

/// A row: a method, a subject of its calls, or a remark if there are no numbers.
struct Row<'a> {
    name: String,
    method: Option<&'a Method>,
}

/// Methods by side and number of calls, each with the subjects of its calls below it.
fn rows(session: &Session) -> Vec<Row<'_>> {
    let calls = |method: &Method| Reverse(method.requests + method.notifications);
    let mut methods: Vec<_> = session.methods.without_subjects().collect();
    methods.sort_by_key(|(_, method)| (method.from as u8, calls(method)));
    let mut rows = Vec::new();
    for (index, method) in methods {
        let arrow = if session.has_unknown_senders() { String::new() } else { format!("{} ", method.from.arrow()) };
        rows.push(Row { name: format!("{arrow}{}", method.name), method: Some(method) });
        let mut subjects: Vec<&Method> = session.methods.subjects_of(index).collect();
        subjects.sort_by_key(|subject| calls(subject));
        for subject in subjects.iter().take(MAX_SUBJECTS) {
            let name = format!("    {}", subject.subject.as_deref().unwrap_or_default());
            rows.push(Row { name, method: Some(subject) });
        }
        if let Some(more @ 1..) = subjects.len().checked_sub(MAX_SUBJECTS) {
            rows.push(Row { name: format!("    and {}", counted(more as u64, "other", "others")), method: None });
        }
    }
    rows
}

fn fitting_columns(width: usize) -> Vec<Column> {
    let mut fitting = COLUMNS.to_vec();
    while MIN_NAME_WIDTH + 1 + fitting.iter().map(|column| column.width).sum::<usize>() > width && fitting.len() > 1 {
        let last = fitting.iter().map(|column| column.dispensability).max();
        fitting.retain(|column| Some(column.dispensability) != last);
    }
    fitting
}

fn write_number(text: &mut String, method: &Method, value: Value, width: usize, styles: Styles) -> fmt::Result {
    let Styles { bad, .. } = styles;
    match value {
        Value::Calls => write!(text, "{:>width$}", Count(method.requests + method.notifications)),
        Value::Failures if method.requests == 0 => write!(text, "{NONE:>width$}"),
        Value::Failures if method.failures == 0 => write!(text, "{:>width$}", 0),
        Value::Failures => write!(text, "{bad}{:>width$}{bad:#}", Count(method.failures)),
        Value::Latency(quantile) => match method.latency(quantile) {
            Some(latency) => write!(text, "{:>width$}", dense(&Seconds(latency))),
            None => write!(text, "{NONE:>width$}"),
        },
        Value::Bytes => write!(text, "{:>width$}", dense(&Bytes(method.bytes))),
    }
}

/// A quantity without the space between number and unit.
fn dense(quantity: &impl Display) -> String {
    quantity.to_string().replace(' ', "")
}
