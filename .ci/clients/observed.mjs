// Calls tools of a server with the official TypeScript SDK, one after the other, and says what it saw.
//
// Usage: node observed.mjs CALLS COMMAND [ARGUMENT...]
//
// CALLS is a JSON array of tools with their arguments: [["echo", {"message": "hello"}]]. Prints one JSON object: the
// `tools` that the server lists, and for each of the `calls` its tool, whether it failed, and the milliseconds it took.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [list, command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'wireline-ci', version: '0' }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const calls = [];
for (const [tool, parameters] of JSON.parse(list)) {
    const start = performance.now();
    const failed = await client.callTool({ name: tool, arguments: parameters }).then(
        (result) => result.isError === true,
        () => true,
    );
    calls.push({ tool, failed, ms: performance.now() - start });
}
await client.close();
console.log(JSON.stringify({ tools, calls }));
process.exit();
