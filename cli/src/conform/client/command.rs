//! The client's command line, with the server's command in place of `{server}`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::conform::command::words;
use crate::rules_args::Dialect;
use crate::spawn::cannot_run;

/// What stands for the server's command.
const PLACEHOLDER: &str = "{server}";

/// A client to test.
#[derive(Debug)]
pub(super) struct ClientCommand {
    arguments: Vec<OsString>,
    rules: Dialect,
    /// This program, which is the server as well.
    wireline: PathBuf,
}

impl ClientCommand {
    pub(super) fn new(arguments: &[OsString], rules: Dialect) -> Result<Self, String> {
        let has_placeholder = |argument: &OsString| argument.to_str().is_some_and(|text| text.contains(PLACEHOLDER));
        if !arguments.iter().skip(1).any(has_placeholder) {
            return Err(
                "expected {server} in the client's arguments, in place of the command that starts its server: \
                        wireline conform --client -- my-client {server}"
                    .to_owned(),
            );
        }
        let wireline = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        Ok(Self { arguments: arguments.to_owned(), rules, wireline })
    }

    /// The command that runs the client with a server that misbehaves in this way.
    pub(super) fn command(&self, misbehaviour: &str, log: &Path) -> Command {
        let arguments = self.expanded(misbehaviour, Some(log));
        let mut command = Command::new(arguments.first().map_or(OsStr::new(""), |program| program));
        command.args(&arguments[1..]);
        command
    }

    /// The same command for people, who can paste it into a shell.
    pub(super) fn displayed(&self, misbehaviour: &str) -> String {
        words(&self.expanded(misbehaviour, None))
    }

    pub(super) fn cannot_run(&self, error: &io::Error) -> String {
        cannot_run(&self.arguments, error)
    }

    /// An argument that is the placeholder becomes several arguments, as a client needs that takes the server's command
    /// as the rest of its own. In an argument with more in it, the placeholder becomes one command line for a shell.
    fn expanded(&self, misbehaviour: &str, log: Option<&Path>) -> Vec<OsString> {
        let rules: OsString = self.rules.to_string().into();
        let mut server: Vec<OsString> =
            vec![self.wireline.clone().into(), "misbehave".into(), misbehaviour.into(), "--rules".into(), rules];
        if let Some(log) = log {
            server.extend(["--log".into(), log.into()]);
        }
        let line = server.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let mut arguments = Vec::new();
        for argument in &self.arguments {
            match argument.to_str() {
                Some(PLACEHOLDER) => arguments.extend(server.iter().cloned()),
                Some(text) => arguments.push(text.replace(PLACEHOLDER, &line).into()),
                None => arguments.push(argument.clone()),
            }
        }
        arguments
    }
}

/// A word for a shell, byte for byte.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(arguments: &[&str]) -> String {
        let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
        let client = ClientCommand {
            wireline: "/my tools/wireline".into(),
            ..ClientCommand::new(&arguments, Dialect::Mcp).unwrap()
        };
        client.displayed("twice")
    }

    #[test]
    fn server_is_several_arguments_or_a_part_of_one() {
        let server = "'/my tools/wireline' misbehave twice --rules mcp";
        assert_eq!(expanded(&["client", "-v", "{server}", "--", "x y"]), format!("client -v {server} -- 'x y'"));
        let quoted = server.replace('\'', r"'\''");
        assert_eq!(expanded(&["client", "--server={server}"]), format!("client '--server={quoted}'"));
    }

    #[test]
    fn client_has_to_get_its_server() {
        for arguments in [&["client"][..], &["{server}"], &["client", "{ server }"]] {
            let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
            assert!(ClientCommand::new(&arguments, Dialect::Mcp).unwrap_err().contains("{server}"));
        }
    }
}
