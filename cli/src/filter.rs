//! Which messages of a session to show.

use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use wireline::Id;

use crate::judge::{Finding, Severity};
use crate::session::{MethodIndex, OverdueRequest, Role, Seen, Session, Side, displayed_id};
use crate::terminal::escape;
use crate::units::parse_duration;

/// The options of all commands with a transcript. A message is shown if all of them permit it.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Filter {
    /// Show only messages of this method and answers to them; `*` stands for any text, `?` for one character
    #[arg(long, value_name = "GLOB")]
    method: Vec<Glob>,

    /// Show only calls of this tool, prompt or resource and answers to them; may contain `*` and `?`
    #[arg(long, value_name = "NAME")]
    tool: Vec<Glob>,

    /// Show only the request with this id, its answer, and what is about it
    #[arg(long, value_name = "ID", value_parser = parse_id, allow_hyphen_values = true)]
    id: Vec<Id<'static>>,

    /// Show only errors, failed calls, faulty lines, and answers that match no request
    #[arg(long)]
    errors: bool,

    /// Show only answers that took longer than this
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    slower_than: Option<Duration>,

    /// Show only messages, faulty lines and lines of standard error that contain this text, whatever the case of letters
    #[arg(long, value_name = "TEXT")]
    grep: Vec<String>,

    /// Show only what this side sent
    #[arg(long, value_enum, value_name = "FROM")]
    direction: Option<Direction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Direction {
    /// What the client sent
    Client,
    /// What the server sent
    Server,
}

/// A pattern for names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Glob(Vec<char>);

/// What a filter looks at.
#[derive(Default)]
struct Facts {
    /// Escaped, as they are displayed.
    method: Option<String>,
    subject: Option<String>,
    /// As [`displayed_id`] shows it.
    id: String,
    is_problem: bool,
    latency: Option<Duration>,
}

impl Filter {
    /// Whether everything is shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.direction.is_none() && !self.is_selective()
    }

    /// Whether only problems are shown.
    pub(crate) fn only_errors(&self) -> bool {
        self.errors
    }

    /// Whether to show what a side sent.
    pub(crate) fn shows(&self, session: &Session, from: Side, seen: &Seen<'_>) -> bool {
        let from = if let Seen::Finding(finding) = seen { finding.place.from } else { from };
        if self.direction.is_some_and(|direction| direction.side() != from) {
            return false;
        }
        if !self.is_selective() {
            return true;
        }
        let text = match seen {
            Seen::Message { message, .. } => message.as_bytes(),
            Seen::Fault { line, .. } => line,
            _ => b"",
        };
        if !self.contains(text) {
            return false;
        }
        self.permits(&match seen {
            // Its entries are shown one by one.
            Seen::Batch { .. } => return false,
            Seen::Fault { fault, .. } => Facts { id: displayed_id(fault.id()), is_problem: true, ..Facts::default() },
            Seen::Finding(finding) => Facts { is_problem: is_error(finding), ..Facts::default() },
            Seen::CarriageReturn | Seen::Unterminated { .. } => Facts { is_problem: true, ..Facts::default() },
            Seen::Message { message, role, findings, .. } => {
                let id = displayed_id(message.id());
                let facts = match role {
                    Role::Call { subject, .. } => Facts {
                        method: message.method().map(|method| escape(method.as_bytes())),
                        subject: subject.as_ref().map(|subject| escape(subject.as_bytes())),
                        id,
                        is_problem: false,
                        latency: None,
                    },
                    Role::Progress { method, id, .. } | Role::Cancellation { method, id, .. } => {
                        Facts { id: id.clone(), ..Facts::of(session, *method) }
                    }
                    Role::Response { method, latency, is_failure, .. } => {
                        Facts { id, is_problem: *is_failure, latency: *latency, ..Facts::of(session, *method) }
                    }
                    Role::ResponseToFault | Role::UnmatchedResponse { .. } => {
                        Facts { id, is_problem: true, ..Facts::default() }
                    }
                };
                Facts { is_problem: facts.is_problem || findings.iter().any(is_error), ..facts }
            }
        })
    }

    /// Whether to show a line of standard error, which belongs to no message.
    pub(crate) fn shows_stderr(&self, line: &[u8]) -> bool {
        let Self { method, tool, id, errors, slower_than, grep: _, direction } = self;
        let is_about_messages = !method.is_empty() || !tool.is_empty() || !id.is_empty();
        !is_about_messages && !errors && slower_than.is_none() && direction.is_none() && self.contains(line)
    }

    /// Whether a text contains one of those that are looked for, as it is or as JSON spells it.
    fn contains(&self, text: &[u8]) -> bool {
        if self.grep.is_empty() {
            return true;
        }
        let text = String::from_utf8_lossy(text).to_lowercase();
        self.grep.iter().map(|wanted| wanted.to_lowercase()).any(|wanted| {
            let spelled = serde_json::to_string(&wanted).unwrap_or_default();
            text.contains(&wanted) || text.contains(spelled.trim_matches('"'))
        })
    }

    /// Whether to say that a request is still pending.
    pub(crate) fn shows_overdue(&self, session: &Session, request: &OverdueRequest, now: Duration) -> bool {
        let latency = Some(now.saturating_sub(request.sent));
        let facts = Facts { id: request.id.clone(), is_problem: true, latency, ..Facts::of(session, request.method) };
        // The other side is the one that does not answer.
        self.direction.is_none_or(|direction| direction.side() != request.from) && self.permits(&facts)
    }

    /// Whether it looks at more than the direction.
    fn is_selective(&self) -> bool {
        let Self { method, tool, id, errors, slower_than, grep, direction: _ } = self;
        let names = !method.is_empty() || !tool.is_empty() || !id.is_empty();
        names || *errors || slower_than.is_some() || !grep.is_empty()
    }

    fn permits(&self, facts: &Facts) -> bool {
        let is_one = |globs: &[Glob], name: &Option<String>| {
            globs.is_empty() || name.as_ref().is_some_and(|name| globs.iter().any(|glob| glob.matches(name)))
        };
        is_one(&self.method, &facts.method)
            && is_one(&self.tool, &facts.subject)
            && (self.id.is_empty() || self.id.iter().any(|id| displayed_id(Some(id)) == facts.id))
            && (!self.errors || facts.is_problem)
            && self.slower_than.is_none_or(|limit| facts.latency.is_some_and(|latency| latency > limit))
    }
}

fn is_error(finding: &Finding) -> bool {
    finding.rule.severity() == Severity::Error
}

impl Facts {
    fn of(session: &Session, index: MethodIndex) -> Self {
        let method = &session.methods[index];
        let name = method.parent.map_or(&method.name, |parent| &session.methods[parent].name);
        Self { method: Some(name.clone()), subject: method.subject.clone(), ..Self::default() }
    }
}

impl Direction {
    fn side(self) -> Side {
        match self {
            Self::Client => Side::Client,
            Self::Server => Side::Server,
        }
    }
}

impl FromStr for Glob {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.chars().collect()))
    }
}

impl Glob {
    /// Takes time proportional to the product of the lengths, at most.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let (pattern, name) = (&self.0[..], name.chars().collect::<Vec<_>>());
        let (mut at, mut in_name) = (0, 0);
        // Where to go on if the text for the last `*` turns out to be longer.
        let mut retry = None;
        while in_name < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    at += 1;
                    retry = Some((at, in_name));
                }
                Some(character) if *character == '?' || *character == name[in_name] => {
                    at += 1;
                    in_name += 1;
                }
                _ => match retry {
                    Some((after_star, start)) => {
                        (at, in_name) = (after_star, start + 1);
                        retry = Some((after_star, start + 1));
                    }
                    None => return false,
                },
            }
        }
        pattern[at..].iter().all(|character| *character == '*')
    }
}

/// Parses an id as JSON. Whatever is not JSON is a string without its quotes.
fn parse_id(text: &str) -> Result<Id<'static>, std::convert::Infallible> {
    Ok(Id::parse(text).map_or_else(|| Id::from(text), Id::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, name, is_match) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("tools/*", "tools/call", true),
            ("tools/*", "tools/", true),
            ("tools/*", "prompts/get", false),
            ("*list*", "tools/list", true),
            ("*/list", "tools/list/x", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("?", "é", true),
            ("*a*a*a*b", &"a".repeat(1000), false),
            ("tools/call", "tools/call", true),
            ("tools/cal", "tools/call", false),
        ] {
            assert_eq!(pattern.parse::<Glob>().unwrap().matches(name), is_match, "{pattern} {name}");
        }
    }

    #[test]
    fn ids() {
        for (text, json) in [("1", "1"), ("\"1\"", "\"1\""), ("abc", "\"abc\""), ("null", "null"), ("-1", "-1")] {
            assert_eq!(parse_id(text).unwrap().as_json(), json);
        }
    }
}
