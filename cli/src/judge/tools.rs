//! Calls of tools and their results match the schemas that the server has listed.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde::Deserialize;
use wireline::RawJson;

use super::case::{Asked, Call, Case, Place, select, text};
use super::rules::Rule;
use super::schemas::{Mismatch, Schema};
use super::{Answer, Group};
use crate::session::Side;
use crate::terminal::escape_start;

const LIST: &str = "tools/list";
const CALL: &str = "tools/call";
const CHANGED: &str = "notifications/tools/list_changed";

/// How many tools are known at a time, and the longest name.
const MAX_TOOLS: usize = 1024;
const MAX_NAME_LEN: usize = 256;

/// The width that a tool's name is cut to.
const NAME_COLUMNS: usize = 40;

#[derive(Default)]
pub(super) struct Tools {
    known: HashMap<String, Tool>,
    /// Whether these are all tools.
    is_complete: bool,
    /// The texts of schemas whose problems have been reported, as hashes.
    reported: HashSet<u64>,
}

#[derive(Default)]
struct Tool {
    input: Option<Listed>,
    output: Option<Listed>,
}

/// A schema, and its text to see whether it has changed.
#[derive(Clone)]
struct Listed {
    hash: u64,
    schema: Arc<Schema>,
}

/// The result of `tools/list`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    #[serde(borrow)]
    tools: Vec<RawJson<'a>>,
    #[serde(borrow)]
    next_cursor: Option<RawJson<'a>>,
}

impl Group for Tools {
    fn call(&mut self, call: &Call<'_>, case: &mut Case) {
        match (call.method, call.place.from) {
            (CHANGED, Side::Server) => *self = Self { reported: std::mem::take(&mut self.reported), ..Self::default() },
            (CALL, Side::Client) if case.dialect.is_mcp() && call.is_request() => self.judge_call(call, case),
            _ => {}
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, case: &mut Case) {
        if !case.dialect.is_mcp() {
            return;
        }
        let Some(result) = answer.response.result() else { return };
        if let Some(asked) = answer.to(LIST) {
            self.add_list(asked, &result, answer.place, case);
        } else if let Some(asked) = answer.to(CALL) {
            self.judge_result(asked, &result, answer.place, case);
        }
    }
}

impl Tools {
    fn add_list(&mut self, asked: &Asked, result: &RawJson<'_>, place: Place, case: &mut Case) {
        let Ok(List { tools, next_cursor }) = result.deserialize() else { return };
        // A list that is asked for again is mostly the same, and its schemas need not be compiled again.
        let mut before = if asked.has_cursor { HashMap::new() } else { std::mem::take(&mut self.known) };
        for tool in tools {
            let Some(name) = tool.pointer("/name").and_then(|name| Some(name.as_str()?.into_owned())) else { continue };
            if self.known.len() >= MAX_TOOLS || name.len() > MAX_NAME_LEN {
                continue;
            }
            let Tool { input, output } = before.remove(&name).unwrap_or_default();
            let input = self.schema(&tool, &name, "inputSchema", input, place, case);
            let output = self.schema(&tool, &name, "outputSchema", output, place, case);
            self.known.insert(name, Tool { input, output });
        }
        self.is_complete = next_cursor.is_none() && self.known.len() < MAX_TOOLS;
    }

    fn schema(
        &mut self,
        tool: &RawJson<'_>,
        name: &str,
        member: &str,
        before: Option<Listed>,
        place: Place,
        case: &mut Case,
    ) -> Option<Listed> {
        let json = tool.pointer(&format!("/{member}"))?;
        let hash = hash_of(json.as_bytes());
        let listed = before.filter(|before| before.hash == hash);
        let listed = listed.unwrap_or_else(|| Listed { hash, schema: Arc::new(Schema::new(&json)) });
        let (rule, problem) = match &*listed.schema {
            Schema::Invalid(keyword) => (Rule::InvalidSchema, format!("isn't valid: `{keyword}`")),
            Schema::Remote => (Rule::RemoteReference, "refers to another document".to_owned()),
            Schema::Valid(_) | Schema::Unchecked => return Some(listed),
        };
        if self.reported.len() < 2 * MAX_TOOLS && self.reported.insert(hash) {
            let name = escape_start(name.as_bytes(), NAME_COLUMNS);
            case.find(rule, place, format!("the `{member}` of {name} {problem}"));
        }
        Some(listed)
    }

    fn judge_call(&self, call: &Call<'_>, case: &mut Case) {
        let Some(name) = text(&call.members.name) else { return };
        let Some(tool) = self.known.get(&*name) else {
            if self.is_complete {
                case.find(Rule::UnknownTool, call.place, format!("{}: there is no such tool", call.name()));
            }
            return;
        };
        let Some(input) = &tool.input else { return };
        if let Some(mismatch) = input.schema.mismatch(call.members.arguments.as_ref()) {
            let what = format!("{}: the arguments don't match the `inputSchema`", call.name());
            report(Rule::InvalidArguments, call.place, what, &mismatch, case);
        }
    }

    fn judge_result(&self, asked: &Asked, result: &RawJson<'_>, place: Place, case: &mut Case) {
        let tool = asked.subject.as_deref().and_then(|name| self.known.get(name));
        let Some(output) = tool.and_then(|tool| tool.output.as_ref()) else { return };
        let [is_error, task, result_type, content] =
            select(result, ["isError", "task", "resultType", "structuredContent"]);
        let is_interim = task.is_some() || result_type.is_some_and(|it| it.as_json() != "\"complete\"");
        if is_interim || is_error.is_some_and(|it| it.as_json() == "true") {
            return;
        }
        let Some(content) = content else {
            let what = format!("{}: the tool has an `outputSchema`, so `structuredContent` is missing", asked.name);
            case.find(Rule::MissingStructuredContent, place, what);
            return;
        };
        if let Some(mismatch) = output.schema.mismatch(Some(&content)) {
            let what = format!("{}: `structuredContent` doesn't match the `outputSchema`", asked.name);
            report(Rule::InvalidStructuredContent, place, what, &mismatch, case);
        }
    }
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn report(rule: Rule, place: Place, what: String, Mismatch { keyword, path }: &Mismatch, case: &mut Case) {
    case.find_with(rule, place, format!("{what}: `{keyword}`"), Some(format!("at `{path}`")));
}
