"""Runs `wireline tap` under Wine on a pseudo-terminal, where it has a console, and presses Ctrl-C: the server, which does
nothing about that, ends, and the tap stays to write its summary.

Usage: console.py WIRELINE
"""

import fcntl
import os
import pathlib
import pty
import select
import subprocess
import sys
import tempfile
import termios
import time

SECONDS = 120  # for which the server would run


def take_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def wait(terminal, is_over):
    """Waits until something has happened, and meanwhile reads what the terminal shows."""
    deadline = time.monotonic() + SECONDS / 2
    while not is_over():
        assert time.monotonic() < deadline, "nothing happens"
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                os.read(terminal, 4096)
            except OSError:  # nobody has it open any more
                time.sleep(0.1)


with tempfile.TemporaryDirectory() as folder:
    log = pathlib.Path(folder) / "log"
    terminal, theirs = pty.openpty()
    tap = [sys.argv[1], "tap", "--log", "log", "--", "cmd", "/c", f"echo ready & ping -n {SECONDS} 127.0.0.1"]
    process = subprocess.Popen(
        ["wine", *map(str, tap)], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, preexec_fn=take_terminal
    )
    os.close(theirs)
    wait(terminal, lambda: log.exists() and "fault" in log.read_text())
    os.write(terminal, b"\x03")
    wait(terminal, lambda: process.poll() is not None)
    text = log.read_text()
    assert "\nserver exited with code" in text and "[invalid-literal]" in text, text
    print("Ctrl-C: the server ended, and the tap wrote its summary")
