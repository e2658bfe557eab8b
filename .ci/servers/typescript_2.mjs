// An MCP server with a read-only tool, on version 2 of the official TypeScript SDK. For .ci/conformance.

import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

serveStdio(() => {
  const server = new McpServer({ name: "echo", version: "1" });
  server.registerTool(
    "echo",
    {
      description: "Returns the text",
      inputSchema: z.object({ text: z.string() }),
      annotations: { readOnlyHint: true },
    },
    ({ text }) => ({ content: [{ type: "text", text }] }),
  );
  return server;
});
