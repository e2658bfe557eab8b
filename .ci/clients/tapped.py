"""The official Python SDK as a client of a server behind `wireline tap`.

Usage: tapped.py SERVER works|ends

The server answers everything, or it ends before it has. Exits with 1 where it is otherwise.
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
                sys.exit("expected the text that was sent")


_, server, expected = sys.argv
try:
    asyncio.run(asyncio.wait_for(talk(server), 100))
    found = "works"
except TimeoutError:
    found = "hangs"
except Exception:
    found = "ends"
if found != expected:
    sys.exit(f"expected that it {expected}, found that it {found}")
