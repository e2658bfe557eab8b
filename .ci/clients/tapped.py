"""Tests a server behind `wireline tap` with the official Python SDK.

Usage: tapped.py SERVER works|ends

The server is expected to answer everything (works), or to end before that (ends). Exits with 1 if it does otherwise.
"""

import asyncio
import sys

from mcp import Client, StdioServerParameters


async def talk(server):
    async with Client(StdioServerParameters(command=server), mode="legacy") as client:
        await client.list_tools()
        for text in ["é\n\"😀\"", "x" * 1_000_000, *(f"number {i}" for i in range(200))]:
            [content] = (await client.call_tool("echo", {"text": text})).content
            if content.text != text:
                sys.exit("expected the text that was sent to come back")


_, server, expected = sys.argv
try:
    asyncio.run(asyncio.wait_for(talk(server), 100))
    found = "works"
except TimeoutError:
    found = "hangs"
except Exception:
    found = "ends"
if found != expected:
    sys.exit(f"expected a server that {expected}, found one that {found}")
