// Talks to the official everything server, or to a recording of it, with the official TypeScript SDK.
//
// Usage: node replayed.mjs COMMAND [ARGUMENT...]
//
// Prints what it saw as one line of JSON: the tools, and for each call its tool, whether it failed, and how much content
// came back; progress as numbers.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CreateMessageRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [command, ...args] = process.argv.slice(2);
const seen = [];

const client = new Client({ name: 'wireline-ci', version: '0' }, { capabilities: { roots: {}, sampling: {} } });
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///tmp', name: 'tmp' }] }));
client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'none',
    role: 'assistant',
    content: { type: 'text', text: 'sampled' },
}));
await client.connect(new StdioClientTransport({ command, args, stderr: 'ignore' }));

seen.push((await client.listTools()).tools.map((tool) => tool.name));
await call('echo', { message: 'hello' });
await call('get-sum', { a: 1, b: 2.5 });
await Promise.all(['a', 'b', 'c'].map((message) => call('echo', { message })));
await call('trigger-long-running-operation', { duration: 1, steps: 4 }, { onprogress: ({ progress }) => seen.push(progress) });
await call('trigger-sampling-request', { prompt: 'x', maxTokens: 5 });
await call('no-such-tool', {});
seen.push((await client.listResources()).resources.length, (await client.listPrompts()).prompts.length);
await client.ping();
await client.close();
console.log(JSON.stringify(seen));
process.exit();

async function call(name, args, options) {
    try {
        const result = await client.callTool({ name, arguments: args }, undefined, options);
        seen.push([name, result.isError === true, result.content.length]);
    } catch (error) {
        seen.push([name, error.code]);
    }
}
