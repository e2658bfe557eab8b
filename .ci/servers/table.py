"""Writes what `wireline conform` found about several servers as a table into a page of documentation.

Usage: table.py RESULTS PAGE

RESULTS has three files for each server: NN.name (its name and its version), NN.alone and NN.guarded (the reports of
`wireline conform --format json`, without and with `wireline guard` in front of it). The table replaces what is between
the two markers of the page.
"""

import json
import pathlib
import sys

START, END = "<!-- servers: start -->", "<!-- servers: end -->"


def score(report, level):
    """How many checks of a level passed, of those that were run."""
    passed, failed = report[level]["passed"], report[level]["failed"]
    return f"{passed}/{passed + failed}"


def failures(report):
    return {check["name"]: check["level"] for check in report["checks"] if check["outcome"] == "failed"}


def listed(names):
    return ", ".join(f"`{name}`" for name in names) or "–"


def row(name_file):
    name, version = name_file.read_text().splitlines()
    alone, guarded = (json.loads(name_file.with_suffix(kind).read_text()) for kind in (".alone", ".guarded"))
    failed, failed_behind = failures(alone), failures(guarded)
    # A check that was skipped behind the guard says nothing.
    passed_behind = {check["name"] for check in guarded["checks"] if check["outcome"] == "passed"}
    cells = [
        name,
        version,
        alone["protocol"].removeprefix("MCP "),
        score(alone, "must"),
        score(alone, "should"),
        listed(check for check, level in failed.items() if level == "must"),
        listed(check for check, level in failed.items() if level == "should"),
        listed(check for check in failed if check in passed_behind),
        listed(check for check in failed_behind if check not in failed),
    ]
    return f"| {' | '.join(cells)} |"


results, page = map(pathlib.Path, sys.argv[1:])
heads = ["server", "version", "revision", "must", "should", "failed (must)", "failed (should)"]
heads += ["passed behind `wireline guard`", "failed only behind it"]
rows = [f"| {' | '.join(heads)} |", "|---|---|---|--:|--:|---|---|---|---|"]
rows += [row(name) for name in sorted(results.glob("*.name"))]
before, rest = page.read_text().split(START)
after = rest.split(END)[1]
page.write_text(f"{before}{START}\n\n" + "\n".join(rows) + f"\n\n{END}{after}")
