"""Writes recordings for `wireline report`, as `wireline tap --record` would."""

import json

STARTED = 1790000000.0
MESSAGES = 100_000

LONG_TOOL = "workspace_repository_search_and_replace_in_all_files_of_the_current_branch_and_its_ancestors"
POEM = "# Notes\n\n- first line\n- second line, with a\ttab and an emoji: 🦀\n\n```rust\nfn main() {\n    println!(\"hello\");\n}\n```\n"


class Recording:
    """A file of sessions, each with a clock that its calls advance."""

    def __init__(self, path):
        self.file = open(path, "w")
        self.now = STARTED

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def record(self, **record):
        self.file.write(json.dumps({"time": round(self.now, 6), **record}, ensure_ascii=False, separators=(",", ":")) + "\n")

    def start(self):
        self.now += 60
        self.ids = 0
        self.file.write(json.dumps({"wireline-recording": 2, "time": self.now}, separators=(",", ":")) + "\n")

    def end(self):
        self.record(event="end", code=0)

    def line(self, side, text):
        self.record(**{"from": side}, line=text)

    def send(self, side, **message):
        self.line(side, json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False))

    def request(self, method, params, side="client", id=None):
        if id is None:
            self.ids += 1
            id = self.ids
        self.send(side, id=id, method=method, params=params)
        return id

    def call(self, tool, seconds=0.002, pause=0.0005, id=None, arguments=None, **answer):
        """A call of a tool, and its answer after some time: `result`, or `error`."""
        id = self.request("tools/call", {"name": tool, "arguments": arguments or {"path": "src/lib.rs"}}, id=id)
        self.now += seconds
        self.send("server", id=id, **(answer or {"result": text("done")}))
        self.now += pause

    def initialize(self, server="files"):
        info = {"name": "editor", "version": "2.4.1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {"sampling": {}, "roots": {}}, "clientInfo": info}
        id = self.request("initialize", params)
        self.now += 0.03
        capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}, "logging": {}}
        info = {"name": server, "version": "0.9.0"}
        self.send("server", id=id, result={"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info})
        self.now += 0.001
        self.send("client", method="notifications/initialized")
        self.now += 0.001


def text(*texts, **more):
    return {"content": [{"type": "text", "text": text} for text in texts], **more}


def write_sessions(path):
    """Three sessions: a short one, one with everything, and one that breaks off within a record."""
    with Recording(path) as recording:
        recording.start()
        recording.initialize("short")
        recording.end()

        recording.start()
        recording.initialize()
        recording.line("stderr", "files 0.9.0 serves /home/user/project, with 3 roots and a cache of 64 MiB")
        tools = ["read_file", "list", "search", "write_file"]
        for n in range(14):
            recording.call(tools[n % 4], 0.0016 + n % 5 * 0.0004, arguments={"path": f"src/{n}.rs"})
        recording.line("stderr", "")
        recording.line("stderr", "\x1b[33mWARN\x1b[0m build takes long")
        recording.call("build", 30.0, 0.002)
        for n in range(14):
            recording.call(tools[n % 3], 0.0012 + n % 7 * 0.0003)
        recording.call("read_file", result=text(POEM, "A second text."))
        recording.call("missing", error={"code": -32602, "message": "unknown tool: missing"})
        recording.call("write_file", result=text("permission denied:\n  src/lib.rs is read-only", isError=True))
        recording.call(LONG_TOOL, id="01920b4c-7a3e-7c11-b5a1-0242ac120002")
        recording.call("write_file", arguments={"path": "notes.md", "content": POEM})
        recording.line("server", "listening on stdio, log level info")
        recording.request("sampling/createMessage", {"messages": [{"role": "user", "content": {"type": "text", "text": "Summarise:\n" + POEM}}]}, "server", 1)
        recording.now += 0.8
        recording.send("client", id=1, result={"role": "assistant", "content": {"type": "text", "text": "Notes, in\ntwo lines."}, "model": "m"})
        recording.now += 0.001
        recording.request("tools/call", {"name": "watch", "arguments": {}})
        cancelled = recording.request("tools/call", {"name": "search", "arguments": {"query": "x"}})
        recording.now += 0.004
        recording.send("client", method="notifications/cancelled", params={"requestId": cancelled, "reason": "the user closed the file"})
        for n in range(4):
            recording.call(tools[n])
        recording.end()

        recording.start()
        recording.initialize("cut-off")
        for n in range(5):
            recording.call(tools[n % 4])
        recording.request("tools/call", {"name": "search", "arguments": {"query": "the last one"}})
        recording.file.write('{"time":1790000211.5,"from":"server","line":"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":7,\\"res')


def write_long_recording(path):
    """A session of 100,000 messages: half requests, half responses, of which some are late and some are errors."""
    with Recording(path) as recording:
        recording.start()
        for n in range(MESSAGES // 2):
            tool = ["search", "read_file", "write_file", "list"][n * n % 7 % 4]
            seconds = 0.0004 * (1 + n * 7919 % 31) * (40 if n % 997 == 0 else 1)
            is_missing = n % 211 == 5
            answer = {"error": {"code": -32000, "message": f"item {n} is missing"}} if is_missing else {"result": text(f"result {n}: " + "lorem ipsum " * (n % 23))}
            recording.call(tool, seconds, 0.0002, id=n, arguments={"query": f"item {n}", "limit": n % 50}, **answer)
        recording.end()
