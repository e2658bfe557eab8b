//! A language server on stdin and stdout, for plain text: it marks each `TODO`, and says how long a line is.
//!
//! ```console
//! $ cargo build --release --features stdio,tokio --example language_server
//! $ nvim --cmd "autocmd FileType text lua vim.lsp.start({cmd = {'target/release/examples/language_server'}})" notes.txt
//! ```
//!
//! Messages have `Content-Length` headers. Hovers run at the same time, and are dropped when they are cancelled; what
//! changes a document takes effect in the order of arrival. `exit` ends the process at once, even if the editor keeps
//! stdin open.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;
use wireline::aio::Connection;
use wireline::connection::{Call, Config};
use wireline::{Framing, RpcError, Rules};

/// How long a hover takes, in place of some real work.
const HOVER: Duration = Duration::from_millis(200);
/// How long requests may run when the editor is gone.
const GRACE: Duration = Duration::from_secs(5);
/// How long the editor may read nothing.
const STALLED: Duration = Duration::from_secs(10);

/// The error code of requests before `initialize`.
const NOT_INITIALIZED: i64 = -32002;

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<ExitCode> {
    // Some editors send `"params":null` with `shutdown` and `exit`. The protocol has no batches.
    let rules = Rules::json_rpc().batches(false).null_params(true);
    let (_, connection) = Connection::stdio(Config::new(rules).framing(Framing::ContentLength))?;
    // Without the claim in `stdio`, the editor would receive this line between two messages.
    println!("language_server: printed to stdout, redirected to stderr");

    let server = Server::default();
    let grace = async || match server.phase.get() {
        Phase::Exited { .. } => {} // no grace: don't wait for the end of stdin either
        _ => sleep(GRACE).await,
    };
    let served = connection
        .end_if_stalled(|| sleep(STALLED))
        .serve_until(server.exit.notified(), grace, async |call| server.answer(&call).await)
        .await;
    match server.phase.get() {
        Phase::Exited { code } => Ok(code.into()), // and whether the editor has read the last answers doesn't matter
        _ => served.map(|()| ExitCode::FAILURE),
    }
}

#[derive(Default)]
struct Server {
    phase: Cell<Phase>,
    exit: Notify,
    /// The text of each open document, by its URI.
    documents: RefCell<HashMap<String, String>>,
}

#[derive(Clone, Copy, Default)]
enum Phase {
    #[default]
    Starting,
    Running,
    ShutDown,
    Exited {
        code: u8,
    },
}

impl Server {
    /// The result of a request. For a notification, it is dropped.
    async fn answer(&self, call: &Call<'_>) -> Result<Value, RpcError> {
        match (self.phase.get(), call.method()) {
            (phase, "exit") => {
                self.phase.set(Phase::Exited { code: u8::from(!matches!(phase, Phase::ShutDown)) });
                self.exit.notify_one();
                Ok(Value::Null)
            }
            (Phase::Starting, "initialize") => {
                self.phase.set(Phase::Running);
                Ok(json!({
                    "capabilities": { "textDocumentSync": 1, "hoverProvider": true },
                    "serverInfo": { "name": "language_server" },
                }))
            }
            (Phase::Starting, _) => Err(RpcError::new(NOT_INITIALIZED, "expected initialize")),
            (Phase::Running, method) => self.answer_running(method, call).await,
            _ => Err(RpcError::invalid_request("the server is shutting down")),
        }
    }

    async fn answer_running(&self, method: &str, call: &Call<'_>) -> Result<Value, RpcError> {
        match method {
            "initialize" => Err(RpcError::invalid_request("initialize was sent before")),
            "shutdown" => {
                self.phase.set(Phase::ShutDown);
                Ok(Value::Null)
            }
            "textDocument/didOpen" => {
                let Opened { text_document: Document { uri, text } } = call.params()?;
                self.set_text(uri, text, call).await;
                Ok(Value::Null)
            }
            "textDocument/didChange" => {
                let Changed { text_document, content_changes } = call.params()?;
                // Each is the whole text, since the server asks for that.
                if let Some(Change { text }) = content_changes.into_iter().next_back() {
                    self.set_text(text_document.uri, text, call).await;
                }
                Ok(Value::Null)
            }
            "textDocument/didClose" => {
                let Closed { text_document } = call.params()?;
                self.documents.borrow_mut().remove(&text_document.uri);
                Ok(Value::Null)
            }
            "textDocument/hover" => {
                let Hover { text_document, position } = call.params()?;
                let hover = self.hover(&text_document.uri, position.line)?;
                // A cancelled hover is dropped here, and answered with the error for that.
                sleep(HOVER).await;
                Ok(hover)
            }
            _ => Err(RpcError::method_not_found()),
        }
    }

    /// Keeps the text of a document, and publishes where there is something left to do.
    async fn set_text(&self, uri: String, text: String, call: &Call<'_>) {
        let position = |line, character| json!({ "line": line, "character": character });
        let mut diagnostics = Vec::new();
        for (number, line) in text.lines().enumerate() {
            for (at, found) in line.match_indices("TODO") {
                // Positions count UTF-16 code units.
                let start = line[..at].encode_utf16().count();
                let range = json!({ "start": position(number, start), "end": position(number, start + found.len()) });
                diagnostics.push(json!({ "range": range, "severity": 3, "message": "something to do" }));
            }
        }
        let params = json!({ "uri": uri, "diagnostics": diagnostics });
        self.documents.borrow_mut().insert(uri, text);
        // It has its place in the queue before it is awaited, so diagnostics leave in the order of the changes. It fails
        // only if the connection has ended.
        let _ = call.peer().notify("textDocument/publishDiagnostics", &params).await;
    }

    fn hover(&self, uri: &str, line: usize) -> Result<Value, RpcError> {
        let documents = self.documents.borrow();
        let text = documents.get(uri).ok_or_else(|| RpcError::invalid_params("the document isn't open"))?;
        Ok(match text.lines().nth(line) {
            Some(line) => json!({ "contents": format!("{} characters", line.chars().count()) }),
            None => Value::Null,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Opened {
    text_document: Document,
}

#[derive(Deserialize)]
struct Document {
    uri: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Changed {
    text_document: Named,
    content_changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Named {
    uri: String,
}

#[derive(Deserialize)]
struct Change {
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Closed {
    text_document: Named,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hover {
    text_document: Named,
    position: Position,
}

#[derive(Deserialize)]
struct Position {
    line: usize,
}
