//! Log messages have the levels that the client wants.

use super::case::{Call, Case, text};
use super::rules::Rule;
use super::{Answer, Group};
use crate::session::Side;

/// The least severe first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

const SET_LEVEL: &str = "logging/setLevel";
const MESSAGE: &str = "notifications/message";

#[derive(Default)]
pub(super) struct Logging {
    /// What `logging/setLevel` has set.
    level: Option<usize>,
}

/// The level that a request sets, or asks for as long as it is pending.
pub(super) fn requested_level(call: &Call<'_>) -> Option<usize> {
    let requested = if call.method == SET_LEVEL { &call.members.level } else { &call.members.log_level };
    level(&text(requested)?)
}

impl Group for Logging {
    fn call(&mut self, call: &Call<'_>, case: &mut Case) {
        if !case.dialect.is_mcp() {
            return;
        }
        let named = text(match call.method {
            SET_LEVEL | MESSAGE => &call.members.level,
            _ => &call.members.log_level,
        });
        if named.as_deref().is_some_and(|name| level(name).is_none()) {
            case.find(Rule::UnknownLogLevel, call.place, format!("{}: the level is none of the eight", call.name()));
            return;
        }
        if call.method != MESSAGE || call.place.from != Side::Server {
            return;
        }
        let least = if case.dialect.is_stateless() {
            let levels = case.asked.values().filter(|asked| asked.dialect.is_stateless());
            let Some(least) = levels.filter_map(|asked| asked.log_level).min() else {
                case.find(Rule::LogNotRequested, call.place, "no pending request asks for log messages");
                return;
            };
            Some(least)
        } else {
            self.level
        };
        let level = named.as_deref().and_then(level);
        if let Some((least, level)) = least.zip(level).filter(|(least, level)| level < least) {
            let what = format!("a message of level {} while the level is {}", LEVELS[level], LEVELS[least]);
            case.find(Rule::LogBelowLevel, call.place, what);
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, _: &mut Case) {
        if let Some(asked) = answer.to(SET_LEVEL).filter(|_| answer.response.result().is_some()) {
            self.level = asked.log_level.or(self.level);
        }
    }
}

fn level(name: &str) -> Option<usize> {
    LEVELS.iter().position(|level| *level == name)
}
