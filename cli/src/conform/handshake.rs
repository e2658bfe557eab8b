//! Finds out what a server speaks, and says what a client sends first.

use serde_json::Value;

use super::live::{Live, Patience, Settings};
use super::profile::{Era, NEWEST_HANDSHAKE, Profile, STATELESS, STATELESS_META};
use super::script::Setup;
use super::script::Start;
use super::violation::Violation;
use crate::rules_args::Dialect;

/// The lines that a client sends first: a request, and what follows its answer.
pub(super) struct Handshake {
    pub(super) request: String,
    pub(super) rest: Vec<String>,
}

/// The id of the first request, and of what is asked before the test.
pub(super) const FIRST_ID: &str = "1";

impl Handshake {
    pub(super) fn new(profile: &Profile) -> Self {
        Self::with_id(profile, FIRST_ID)
    }

    /// The lines with another id in the request.
    pub(super) fn with_id(profile: &Profile, id: &str) -> Self {
        let request = match &profile.era {
            Era::Initialized(revision) => initialize(id, revision),
            Era::Stateless => discover(id),
            Era::Acp => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":1,"clientCapabilities":{{}}}}}}"#
            ),
            Era::None => profile.request(id),
        };
        let rest = match &profile.era {
            Era::Initialized(_) => vec![r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()],
            _ => Vec::new(),
        };
        Self { request, rest }
    }
}

fn initialize(id: &str, revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"wireline","version":"{}"}}}}}}"#,
        env!("CARGO_PKG_VERSION")
    )
}

fn discover(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{"_meta":{{{STATELESS_META}}}}}}}"#)
}

/// Finds out what the server speaks. Takes a process or two.
///
/// A server that answers nothing at all is a failure of the check for the start.
pub(super) fn detect(settings: &Settings<'_>) -> Result<Profile, Violation> {
    let args = settings.args;
    let era = match args.rules {
        Dialect::JsonRpc => Era::None,
        Dialect::Acp => Era::Acp,
        Dialect::Mcp => mcp_era(settings)?,
    };
    let profile = Profile::new(args.rules, era, args.probe.clone());
    // Nothing else has to be tested if this fails.
    Live::start(settings, &profile, Setup::default(), Patience::new(args), false)?;
    Ok(profile)
}

/// Asks by `server/discover`. Whatever else is answered, the server has a handshake.
///
/// Some servers ignore what comes before `initialize`, so that is sent after a while. Others take long to start, so the
/// first answer counts.
fn mcp_era(settings: &Settings<'_>) -> Result<Era, Violation> {
    const SECOND_ID: &str = "2";
    let args = settings.args;
    let mut live = start_silently(settings)?;
    live.send_unjudged(&discover(FIRST_ID));
    let mut answer = live.answer_to(&[FIRST_ID], args.timeout.min(args.start_timeout));
    if answer.is_none() {
        live.send_unjudged(&initialize(SECOND_ID, NEWEST_HANDSHAKE));
        answer = live.answer_to(&[FIRST_ID, SECOND_ID], args.start_timeout);
    }
    let answer = match answer {
        Some((0, answer)) => {
            let versions = answer.pointer("/result/supportedVersions").and_then(Value::as_array);
            if versions.is_some_and(|versions| versions.iter().any(|version| version == STATELESS)) {
                return Ok(Era::Stateless);
            }
            live = start_silently(settings)?;
            live.send_unjudged(&initialize(FIRST_ID, NEWEST_HANDSHAKE));
            live.answer_to(&[FIRST_ID], args.start_timeout)
        }
        // It may have exited because of a request that it doesn't know.
        None => {
            live = start_silently(settings)?;
            live.send_unjudged(&initialize(FIRST_ID, NEWEST_HANDSHAKE));
            live.answer_to(&[FIRST_ID], args.timeout.min(args.start_timeout))
        }
        answer => answer,
    };
    let version = answer.as_ref().and_then(|(_, answer)| answer.pointer("/result/protocolVersion")?.as_str());
    version.map(|version| Era::Initialized(version.to_owned())).ok_or_else(|| Violation::NotStarted {
        how: match (&answer, live.end()) {
            (Some(_), _) => "no result with a protocolVersion to `initialize`".to_owned(),
            (None, Some(end)) => format!("{end} before it answered `initialize`{}", live.framing_text()),
            (None, None) => format!("no response to `initialize`{}", live.framing_text()),
        },
    })
}

/// Starts a server and sends nothing.
fn start_silently(settings: &Settings<'_>) -> Result<Live, Violation> {
    let profile = Profile::new(settings.args.rules, Era::None, None);
    let setup = Setup { start: Start::Nothing, ..Setup::default() };
    Live::start(settings, &profile, setup, Patience::new(settings.args), false)
}
