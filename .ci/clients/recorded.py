"""Reads a recording of `wireline tap` from stdin, and writes the bytes that one side sent.

Usage: recorded.py client|server
"""

import base64
import json
import sys

for line in sys.stdin:
    record = json.loads(line)
    if record.get("from") == sys.argv[1]:
        text = base64.b64decode(record["base64"]) if "base64" in record else record["line"].encode()
        is_whole = not (record.get("more") or record.get("open"))
        sys.stdout.buffer.write(text + (b"\n" if is_whole else b""))
