//! Finds out which tools of an MCP server may be called.

use serde_json::Value;
use wireline::RpcError;

use super::args::ToolCall;
use super::live::{Live, Patience, Settings};
use super::profile::Profile;
use super::script::Setup;
use crate::rules_args::Dialect;

/// How many pages of tools are looked at.
const MAX_PAGES: usize = 20;

/// Adds the tools of `--call`, and those that are read-only.
pub(super) fn find(profile: &mut Profile, settings: &Settings<'_>) {
    let args = settings.args;
    if profile.dialect != Dialect::Mcp {
        return;
    }
    let listed = list(profile, settings);
    let read_only = |tool: &&Value| tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
    for tool in listed.iter().filter(read_only) {
        let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
        profile.callable.push(name.to_owned());
        let required = tool.pointer("/inputSchema/required").and_then(Value::as_array);
        if required.is_none_or(Vec::is_empty) && !args.call.iter().any(|call| call.name == name) {
            profile.calls.push(ToolCall { name: name.to_owned(), arguments: "{}".to_owned() });
        }
    }
    profile.calls.extend(args.call.iter().cloned());
    for call in &args.call {
        if !profile.callable.contains(&call.name) {
            profile.callable.push(call.name.clone());
        }
    }
}

/// All tools that the server lists, and whether it knows how to. None, if it lists them in another way than the protocol says.
fn list(profile: &mut Profile, settings: &Settings<'_>) -> Vec<Value> {
    let patience = Patience::new(settings.args);
    let mut tools = Vec::new();
    let Ok(mut live) = Live::start(settings, profile, Setup::default(), patience, false) else { return tools };
    let mut members = String::new();
    for page in 2..MAX_PAGES + 2 {
        live.send_unjudged(&profile.request_of(&page.to_string(), "tools/list", &members));
        let Some((_, answer)) = live.answer_to(&[&page.to_string()], settings.args.timeout) else { break };
        profile.has_tools = answer.pointer("/error/code") != Some(&RpcError::METHOD_NOT_FOUND.into());
        tools.extend(answer.pointer("/result/tools").and_then(Value::as_array).into_iter().flatten().cloned());
        match answer.pointer("/result/nextCursor") {
            Some(Value::String(cursor)) => members = format!("\"cursor\":{}", Value::from(cursor.as_str())),
            _ => break,
        }
    }
    tools
}
