"""An MCP server with a read-only tool, on the official Python SDK. For .ci/conformance."""

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("echo")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """Returns the text"""
    return text


server.run("stdio")
