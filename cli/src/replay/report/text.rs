//! The report for people. Writing to a string cannot fail, so results of `write!` are ignored.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::builder::styling::Style;

use super::{Counts, MAX_COLUMNS, Report};
use crate::json::{Change, ChangeKind, kind};
use crate::replay::args::Format;
use crate::terminal::{Differing, Styles, columns, escape_start, wrap};
use crate::units::counted;

const INDENT: usize = 13;

/// The widths that values are cut to, so that their first difference is in sight: a part of a long text says more than all
/// of it, also where there is no terminal.
const MIN_VALUE_COLUMNS: usize = 20;
const MAX_VALUE_COLUMNS: usize = 1000;

impl Report {
    pub(super) fn write_summary(&mut self, is_same: bool) {
        let Styles { good, bad, dim, .. } = self.styles;
        let Counts { sent, compared, different, ignored, never_came, unreached, extra, .. } = self.counts;
        let mut text = String::new();
        for one in self.repeated.iter().filter(|one| one.more > 0) {
            let more = counted(one.more, "more message like it", "more messages like it");
            text.push_str(&self.lines(&format!("{}: {more}", one.first), 0, dim));
        }
        if !is_same {
            text.push('\n');
        }
        let lines = counted(sent, "message sent", "messages sent");
        let answers = counted(compared, "answer compared", "answers compared");
        let (style, verdict) = match (is_same, different) {
            (true, _) => (good, "all as recorded".to_owned()),
            (false, 0) => (Style::new(), "none differ".to_owned()),
            (false, different) => (bad, counted(different, "differs", "differ")),
        };
        let counts = format!("{lines}, {answers}:");
        if columns(&counts) + 1 + columns(&verdict) < self.line_columns {
            let _ = writeln!(text, "{counts} {style}{verdict}{style:#}");
        } else {
            text.push_str(&(self.lines(&counts, 0, Style::new()) + &self.lines(&verdict, 4, style)));
        }
        for (count, words) in [
            (never_came, counted(never_came, "answer or request never came", "answers or requests never came")),
            (unreached, counted(unreached, "recorded answer was not reached", "recorded answers were not reached")),
            (extra, counted(extra, "answer or request is extra", "answers or requests are extra")),
        ] {
            if count > 0 {
                let _ = writeln!(text, "{bad}{words}{bad:#}");
            }
        }
        if ignored > 0 {
            let differences = counted(ignored, "difference was ignored", "differences were ignored");
            let _ = writeln!(text, "{dim}{differences}{dim:#}");
        }
        self.is_session_named = true;
        self.write(&text);
    }

    pub(super) fn write_change(&self, text: &mut String, change: &Change<'_>) {
        let Styles { bad, good, dim, .. } = self.styles;
        let style = match change.kind {
            ChangeKind::Added => good,
            ChangeKind::Missing => bad,
            ChangeKind::Changed => self.styles.accent,
        };
        let path = escape_start(change.path.as_bytes(), MAX_COLUMNS);
        let path = if path.is_empty() { "(the whole message)" } else { &path };
        let _ = write!(text, "    {style}{:<8}{style:#} {path}", change.kind.name());
        let values = change.before.as_deref().zip(change.after.as_deref());
        if let Some((before, after)) = values
            && kind(before) != kind(after)
        {
            let _ = write!(text, " {dim}({} → {}){dim:#}", kind(before).name(), kind(after).name());
        }
        text.push('\n');
        if self.show {
            let room = self.line_columns.saturating_sub(INDENT + 3).clamp(MIN_VALUE_COLUMNS, MAX_VALUE_COLUMNS);
            let cut = |value: &Option<_>| {
                value.as_deref().map(|value: &str| escape_start(value.as_bytes(), room).into_owned())
            };
            let (before, after, caret) = match values {
                None => (cut(&change.before), cut(&change.after), None),
                Some((before, after)) => {
                    let Differing { before, after, caret } = Differing::new(before, after, room);
                    (Some(before), Some(after), caret)
                }
            };
            for (mark, style, value) in [('-', bad, before), ('+', good, after)] {
                if let Some(value) = value {
                    let _ = writeln!(text, "{:INDENT$}{style}{mark} {value}{style:#}", "");
                }
            }
            if let Some(caret) = caret {
                let caret = INDENT + 2 + caret;
                let _ = writeln!(text, "{:caret$}{dim}^{dim:#}", "");
            }
        }
    }

    /// Text in lines that fit the terminal.
    pub(super) fn lines(&self, text: &str, indent: usize, style: Style) -> String {
        let lines = wrap(text, self.line_columns.saturating_sub(indent + 1));
        lines.map(|line| format!("{:indent$}{style}{line}{style:#}\n", "")).collect()
    }

    /// Prints text for people.
    pub(super) fn write(&mut self, text: &str) {
        if self.format != Format::Human || self.write_error.is_some() {
            return;
        }
        let mut stdout = io::stdout().lock();
        let heading = if self.is_session_named { String::new() } else { format!("session {}:\n", self.session) };
        self.is_session_named = true;
        let written = stdout.write_all(heading.as_bytes()).and_then(|()| stdout.write_all(text.as_bytes()));
        self.write_error = written.and_then(|()| stdout.flush()).err();
    }
}

pub(super) fn end_text(code: Option<i32>, signal: Option<i32>, is_terminated: bool) -> String {
    match (code, signal) {
        _ if is_terminated => "had to be terminated".to_owned(),
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "exited".to_owned(),
    }
}
