"""Tests examples/mcp_server.rs and transports/rmcp/examples/rmcp_server.rs with the official Python SDK.

Usage: client.py SERVER MODE REVISION

MODE is how to connect: legacy (with a handshake), auto (discover first), or a revision (use it without asking).
REVISION is the protocol revision that client and server must agree on. Exits with 1 on any failure.
"""

import asyncio
import sys
import time
from importlib.metadata import version

from mcp import Client, MCPError, StdioServerParameters

# Five megabytes of characters that need or may need escaping in JSON.
LARGE = 'plain "quoted" back\\slash \n\r\t\x00\x7f \u2028 é 日本 😀 '
LARGE *= 5_000_000 // len(LARGE.encode()) + 1

stray = []


async def on_message(message):
    """Collects lines that the SDK could not parse, which it passes as exceptions."""
    if isinstance(message, Exception):
        stray.append(message)


async def talk(server, mode, revision):
    async with Client(StdioServerParameters(command=server), mode=mode, message_handler=on_message) as client:
        same(client.protocol_version, revision)
        # Without asking the server, its name isn't known.
        if mode != revision:
            same(client.server_info.name, "wireline-example")

        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        same(sorted(tools), ["add", "echo"])
        same(tools["echo"].input_schema["required"], ["text"])

        same(text_of(await client.call_tool("echo", {"text": "é\n\"😀\""})), "é\n\"😀\"")
        sum = await client.call_tool("add", {"a": 1, "b": 2.5})
        same((text_of(sum), sum.structured_content, sum.is_error), ("3.5", {"sum": 3.5}, False))
        same((await client.call_tool("add", {"a": 1e308, "b": 1e308})).is_error, True)

        answers = await asyncio.gather(*(client.call_tool("echo", {"text": f"number {i}"}) for i in range(1000)))
        same([text_of(answer) for answer in answers], [f"number {i}" for i in range(1000)])

        same(text_of(await client.call_tool("echo", {"text": LARGE})) == LARGE, True)

        for name, arguments in [("nope", {}), ("echo", {}), ("add", {"a": 1, "b": "2"})]:
            try:
                # rmcp takes bad arguments for a failure of the tool.
                result = await client.call_tool(name, arguments)
                same((result.is_error, name != "nope"), (True, True))
            except MCPError as error:
                same(error.code, -32602)
    same(stray, [])


def text_of(result):
    [content] = result.content
    same(content.type, "text")
    return content.text


def same(found, expected):
    if found != expected:
        raise AssertionError(f"expected {expected!r:.200}, found {found!r:.200}")


start = time.monotonic()
_, server, mode, revision = sys.argv
asyncio.run(asyncio.wait_for(talk(server, mode, revision), 60))
print(f"mcp {version('mcp')}, {mode}: {revision}, {time.monotonic() - start:.1f} s")
