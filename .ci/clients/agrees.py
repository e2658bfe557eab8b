"""Compares what a client saw with what `wireline` says about the same session.

Usage: agrees.py SEEN TRANSCRIPT... LIST STATS

SEEN is the output of observed.mjs or observed.py, each TRANSCRIPT the log of `wireline tap` or the output of `wireline
show`, LIST the output of `wireline show --full` about the answer to `tools/list`, and STATS the output of `wireline stats
--format json`. Tools, calls and failures must be the same ones in the same order. No call may have taken longer by
wireline's account than by the client's, which includes the client itself; in the median, that may account for 50 ms. Exits
with 1 if anything differs.
"""

import json
import re
import statistics
import sys
from collections import Counter

CALL = re.compile(r"^ *[\d.]+ → request +tools/call (.+) (#\S+) +[\d.]+ k?B$")
ANSWER = re.compile(r"^ *[\d.]+ ← (response|failure|error) +tools/call (.+) (#\d+)(?: \(-?\d+\))? +[\d.]+ k?B +([\d.]+) (ns|µs|ms|s)$")
MILLISECONDS = {"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1000}
# The longest part of the client in a latency, as the median, and the error of three significant digits.
OWN, ROUNDING = 50, 1.01


def calls_of(transcript):
    """The calls of a transcript, in the order of their requests."""
    calls, ids = [], {}
    for line in transcript.splitlines():
        if match := CALL.match(line):
            ids[match[2]] = len(calls)
            calls.append({"tool": match[1]})
        elif match := ANSWER.match(line):
            call = calls[ids[match[3]]]
            same(match[2], call["tool"], "the tool of an answer")
            call |= {"failed": match[1] != "response", "ms": float(match[4]) * MILLISECONDS[match[5]]}
    return calls


def is_cut(shown, name):
    """Whether a name is another one, cut to the width of the terminal."""
    return shown == name or shown.endswith("…") and name.startswith(shown[:-1])


def same(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: expected {expected}, found {found}")


_, seen, *transcripts, listed, stats = sys.argv
seen, stats = json.load(open(seen)), json.load(open(stats))
expected = seen["calls"]
for path in transcripts:
    found = calls_of(open(path).read())
    same(len(found), len(expected), f"calls in {path}")
    for shown, call in zip(found, expected):
        same(is_cut(shown["tool"], call["tool"]), True, f"{shown['tool']} is {call['tool']} in {path}")
        same(shown["failed"], call["failed"], f"whether {call['tool']} failed in {path}")
        if shown["ms"] > call["ms"] * ROUNDING:
            sys.exit(f"{call['tool']} in {path}: {shown['ms']} ms, but the client saw the answer after {call['ms']} ms")
    own = statistics.median(call["ms"] - shown["ms"] for shown, call in zip(found, expected))
    if own > OWN:
        sys.exit(f"latencies in {path} differ from the client's by {own} ms in the median")

# The payload follows the line about its message.
payload = json.loads("".join(open(listed).read().splitlines()[1:]))
same([tool["name"] for tool in payload["tools"]], seen["tools"], "the tools of the server")

tools = [method for method in stats["methods"] if method["method"] == "tools/call" and method["subject"]]
same({tool["subject"]: tool["requests"] for tool in tools}, Counter(call["tool"] for call in expected), "calls by tool")
failures = Counter(call["tool"] for call in expected if call["failed"])
same({tool["subject"]: tool["failed"] for tool in tools if tool["failed"]}, failures, "failures by tool")
print(f"{len(expected)} calls of {len(tools)} tools, {failures.total()} failed; {own:.1f} ms of the client's own")
