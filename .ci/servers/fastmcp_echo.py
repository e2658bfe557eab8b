"""An MCP server with a read-only tool, on fastmcp. For .ci/conformance."""

from fastmcp import FastMCP

server = FastMCP("echo")


@server.tool(annotations={"readOnlyHint": True})
def echo(text: str) -> str:
    """Returns the text"""
    return text


server.run(transport="stdio", show_banner=False)
