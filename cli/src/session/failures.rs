//! Why calls failed.

use wireline::{Message, Response};

use super::{MethodIndex, Session, cut_id};
use crate::protocol::Protocols;
use crate::terminal::{Width, escape};
use crate::units::Count;

/// How many different failures are told apart.
const MAX_GROUPS: usize = 100;

/// The longest text of an error that is kept, in characters.
const MAX_TEXT_LEN: usize = 300;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reason {
    /// The code of an error response.
    pub(crate) code: Option<i64>,
    /// What the code means, or the member of a result that marks a failure.
    pub(crate) meaning: Option<&'static str>,
    /// The peer's own words, unescaped, in one line: an error's message, or the first text of a result. Empty if there is
    /// none.
    pub(crate) text: String,
}

impl Reason {
    /// Why a response says that its call has failed, if it does so in its error or else in its result.
    pub(crate) fn of(response: &Response<'_>, protocols: Protocols) -> Self {
        if let Some(error) = response.error() {
            let code = error.code();
            return Self { code: Some(code), meaning: protocols.error_name(code), text: in_one_line(&error.message()) };
        }
        let failure = response.result().and_then(|result| protocols.failure(&result));
        let (meaning, text) = failure.unzip();
        Self { code: None, meaning, text: in_one_line(&text.flatten().unwrap_or_default()) }
    }

    /// In one line, escaped: with the peer's own words if they may be shown and there are some.
    pub(crate) fn summary(&self, with_text: bool) -> String {
        let code = self.code.map(|code| code.to_string());
        [code, self.detail(with_text)].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Like [`summary`](Self::summary), without the code. `None` if nothing is left.
    pub(crate) fn detail(&self, with_text: bool) -> Option<String> {
        match with_text && !self.text.is_empty() {
            true => Some(escape(self.text.as_bytes())),
            false => self.meaning.map(str::to_owned),
        }
    }
}

/// The start of a text, with single spaces instead of line breaks and other blanks.
fn in_one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        let room = MAX_TEXT_LEN.saturating_sub(line.chars().count());
        line.extend(word.chars().take(room));
        if room <= word.len() {
            break;
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// The failed calls of a session, equal ones together.
#[derive(Default)]
pub(crate) struct Failures {
    groups: Vec<FailureGroup>,
    /// Calls that failed for yet other reasons, or whose reason is not known.
    pub(crate) others: u64,
}

pub(crate) struct FailureGroup {
    pub(crate) method: MethodIndex,
    pub(crate) reason: Reason,
    /// The id of the first one, as [`displayed_id`](super::displayed_id) shows it.
    pub(crate) first_id: String,
    pub(crate) count: u64,
}

impl Failures {
    pub(super) fn add(&mut self, method: MethodIndex, reason: Reason, id: impl FnOnce() -> String) {
        let is_full = self.groups.len() >= MAX_GROUPS;
        match self.groups.iter_mut().find(|group| group.method == method && group.reason == reason) {
            Some(group) => group.count += 1,
            None if is_full => self.others += 1,
            None => self.groups.push(FailureGroup { method, reason, first_id: id(), count: 1 }),
        }
    }

    pub(super) fn add_unknown(&mut self) {
        self.others += 1;
    }

    pub(crate) fn count(&self) -> u64 {
        self.groups.iter().map(|group| group.count).sum::<u64>() + self.others
    }

    /// The groups, the largest first.
    pub(crate) fn groups(&self) -> Vec<&FailureGroup> {
        let mut groups: Vec<&FailureGroup> = self.groups.iter().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        groups
    }
}

impl FailureGroup {
    /// The id of the only one, or how many there are: `#4` or `(12 times, first #4)`.
    pub(crate) fn which(&self, width: Width) -> String {
        let first = cut_id(&self.first_id, width);
        match self.count {
            1 => first.into_owned(),
            count => format!("({} times, first {first})", Count(count)),
        }
    }
}

impl Session {
    /// Why a message says that a call has failed, if it does.
    pub(crate) fn reason(&self, message: &Message<'_>, is_failure: bool) -> Option<Reason> {
        match message {
            Message::Response(response) if is_failure || response.error().is_some() => {
                Some(Reason::of(response, self.protocols))
            }
            _ => None,
        }
    }

    /// What a call is made with, without what says which call it is: the arguments of a tool, otherwise the params.
    pub(crate) fn arguments<'a>(&self, message: &Message<'a>) -> Option<wireline::RawJson<'a>> {
        let params = message.params()?;
        Some(self.protocols.arguments(&message.method()?, &params).unwrap_or(params))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_in_one_short_line() {
        assert_eq!(in_one_line("  a\n\n\tb  c\r\n"), "a b c");
        assert_eq!(in_one_line(""), "");
        let long = in_one_line(&"long words ".repeat(100));
        assert!(long.chars().count() <= MAX_TEXT_LEN && long.starts_with("long words long"), "{long}");
        assert_eq!(in_one_line(&"é".repeat(1000)).chars().count(), MAX_TEXT_LEN);
    }

    #[test]
    fn summaries_have_the_peers_words_only_if_wanted() {
        let reason = |code, meaning, text: &str| Reason { code, meaning, text: text.to_owned() };
        for (reason, with_text, without) in [
            (
                reason(Some(-32601), Some("method not found"), "no \x1b[m"),
                "-32601 no \\x1b[m",
                "-32601 method not found",
            ),
            (reason(Some(-32601), Some("method not found"), ""), "-32601 method not found", "-32601 method not found"),
            (reason(Some(7), None, "no"), "7 no", "7"),
            (reason(None, Some("isError"), "broken"), "broken", "isError"),
        ] {
            assert_eq!((reason.summary(true).as_str(), reason.summary(false).as_str()), (with_text, without));
        }
    }
}
