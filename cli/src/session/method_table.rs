//! The table of methods: calls, errors, latencies and sizes.

use std::fmt::{self, Display, Write};

use super::Session;
use super::methods::Method;
use crate::terminal::{Styles, columns, escape_start};
use crate::units::{Bytes, Count, Seconds};

/// The latency columns: a title and a quantile each.
const LATENCIES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)];

const CALLS_WIDTH: usize = 9;
const ERRORS_WIDTH: usize = 6;
/// The width of a latency and of a size, which [`dense`] units leave one column of space in.
const QUANTITY_WIDTH: usize = 7;

/// The width of all columns but the first, with the space before them.
const NUMBERS_WIDTH: usize = 1 + CALLS_WIDTH + 1 + ERRORS_WIDTH + QUANTITY_WIDTH * (LATENCIES.len() + 1);

/// Stands for a number that does not exist.
const NONE: &str = "–";

/// Writes the table in lines of at most `width` columns.
pub(super) fn write(text: &mut String, session: &Session, width: usize, styles: Styles) -> fmt::Result {
    let Styles { bad, dim, .. } = styles;
    let mut methods: Vec<&Method> = session.methods.iter().collect();
    methods.sort_by_key(|method| (method.from as u8, std::cmp::Reverse(method.requests + method.notifications)));
    let longest = methods.iter().map(|method| columns(&method.name) + 2).max().unwrap_or(0);
    let name_width = longest.max("method".len()).min(width.saturating_sub(NUMBERS_WIDTH + 1).max(16));

    write!(text, "{dim}{:name_width$} {:>CALLS_WIDTH$} {:>ERRORS_WIDTH$}", "method", "calls", "errors")?;
    for title in LATENCIES.map(|(title, _)| title).into_iter().chain(["bytes"]) {
        write!(text, "{title:>QUANTITY_WIDTH$}")?;
    }
    writeln!(text, "{dim:#}")?;

    for method in methods {
        let arrow = if session.has_unknown_senders() { String::new() } else { format!("{} ", method.from.arrow()) };
        let name = escape_start(method.name.as_bytes(), name_width - columns(&arrow));
        let gap = " ".repeat(name_width - columns(&arrow) - columns(&name));
        let calls = Count(method.requests + method.notifications);
        write!(text, "{arrow}{name}{gap} {calls:>CALLS_WIDTH$} ")?;
        match method.errors {
            _ if method.requests == 0 => write!(text, "{NONE:>ERRORS_WIDTH$}")?,
            0 => write!(text, "{:>ERRORS_WIDTH$}", 0)?,
            errors => write!(text, "{bad}{:>ERRORS_WIDTH$}{bad:#}", Count(errors))?,
        }
        for (_, quantile) in LATENCIES {
            let latency = method.latency(quantile).map_or_else(|| NONE.to_owned(), |latency| dense(&Seconds(latency)));
            write!(text, "{latency:>QUANTITY_WIDTH$}")?;
        }
        writeln!(text, "{:>QUANTITY_WIDTH$}", dense(&Bytes(method.bytes)))?;
    }
    Ok(())
}

/// A quantity without the space between number and unit.
fn dense(quantity: &impl Display) -> String {
    quantity.to_string().replace(' ', "")
}
