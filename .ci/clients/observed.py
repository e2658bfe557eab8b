"""Calls tools of a server with the official Python SDK, one after the other, and says what it saw.

Usage: observed.py CALLS COMMAND [ARGUMENT...]

CALLS is a JSON array of tools with their arguments: [["echo", {"message": "hello"}]]. Prints one JSON object: the `tools`
that the server lists, and for each of the `calls` its tool, whether it failed, and the milliseconds it took.
"""

import asyncio
import json
import sys
import time

from mcp import Client, MCPError, StdioServerParameters


async def observe(calls, command, arguments):
    async with Client(StdioServerParameters(command=command, args=arguments), mode="legacy") as client:
        seen = {"tools": [tool.name for tool in (await client.list_tools()).tools], "calls": []}
        for tool, parameters in calls:
            start = time.perf_counter()
            try:
                failed = (await client.call_tool(tool, parameters)).is_error is True
            except MCPError:
                failed = True
            seen["calls"].append({"tool": tool, "failed": failed, "ms": (time.perf_counter() - start) * 1000})
    return seen


_, calls, command, *arguments = sys.argv
print(json.dumps(asyncio.run(asyncio.wait_for(observe(json.loads(calls), command, arguments), 100))))
