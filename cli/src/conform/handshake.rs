//! Finds out what a server speaks, and says what a client sends first.

use serde_json::Value;

use super::live::{Live, Patience, Settings};
use super::message::IdKey;
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

/// Finds out what the server speaks. This takes a process or two.
///
/// A server that answers nothing at all is a failure of the check for the start.
pub(super) fn detect(settings: &mut Settings) -> Result<Profile, Violation> {
    let dialect = settings.args.rules;
    let probe = settings.args.probe.clone();
    let era = match dialect {
        Dialect::JsonRpc => Era::None,
        Dialect::Acp => Era::Acp,
        Dialect::Mcp if speaks_stateless(settings)? => Era::Stateless,
        Dialect::Mcp => Era::Initialized(revision(settings)?),
    };
    Ok(Profile::new(dialect, era, probe))
}

/// Asks by `server/discover`. Whatever else is answered, the server has a handshake.
fn speaks_stateless(settings: &mut Settings) -> Result<bool, Violation> {
    let answer = ask(settings, &discover(FIRST_ID))?;
    let versions = answer.as_ref().and_then(|answer| answer.pointer("/result/supportedVersions")?.as_array());
    Ok(versions.is_some_and(|versions| versions.iter().any(|version| version == STATELESS)))
}

/// The revision that the server offers in a handshake.
fn revision(settings: &mut Settings) -> Result<String, Violation> {
    let answer = ask(settings, &initialize(FIRST_ID, NEWEST_HANDSHAKE))?;
    let version = answer.as_ref().and_then(|answer| answer.pointer("/result/protocolVersion")?.as_str());
    version.map(str::to_owned).ok_or_else(|| Violation::NotStarted {
        how: match answer {
            Some(_) => "no result to `initialize`".to_owned(),
            None => "no response to `initialize`".to_owned(),
        },
    })
}

/// Sends a request to a server of its own, and returns the answer, if one comes.
fn ask(settings: &mut Settings, request: &str) -> Result<Option<Value>, Violation> {
    let profile = Profile::new(settings.args.rules, Era::None, None);
    let setup = Setup { start: Start::Nothing, ..Setup::default() };
    let patience = Patience::new(settings.args);
    let mut live = Live::start(settings, &profile, setup, patience, false)?;
    live.send_unjudged(request);
    Ok(live.answer_to(&IdKey::Number(false, "1".to_owned(), 0), settings.args.start_timeout))
}
