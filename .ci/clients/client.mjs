// Tests examples/mcp_server.rs and transports/rmcp/examples/rmcp_server.rs with the official TypeScript SDK.
//
// Usage: node client.mjs SERVER PACKAGE REVISION
//
// PACKAGE is the SDK installed next to this file: @modelcontextprotocol/client, or a package with the layout of
// @modelcontextprotocol/sdk. REVISION is the protocol revision that client and server must agree on. Exits with 1 on
// any failure.

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';

const [server, sdk, revision] = process.argv.slice(2);
const isSecond = sdk === '@modelcontextprotocol/client';
const { Client } = await import(isSecond ? sdk : `${sdk}/client/index.js`);
const { StdioClientTransport } = await import(isSecond ? `${sdk}/stdio` : `${sdk}/client/stdio.js`);

// Five megabytes of characters that need or may need escaping in JSON.
let large = 'plain "quoted" back\\slash \n\r\t\0\x7f \u2028 é 日本 😀 ';
large = large.repeat(Math.ceil(5_000_000 / Buffer.byteLength(large)));

// The SDKs add a listener for each request that waits for room in the pipe, which Node reports as a leak.
EventEmitter.defaultMaxListeners = 0;

const start = performance.now();
const watchdog = setTimeout(() => assert.fail('timed out after 60 s'), 60_000);

const transport = new StdioClientTransport({ command: server });
const agreed = watchHandshake(transport);
const options = { capabilities: {} };
if (revision === '2026-07-28') {
    options.versionNegotiation = { mode: { pin: revision } };
}
const client = new Client({ name: 'wireline-ci', version: '0' }, options);
// Receives lines that are not messages, and responses to no request.
const stray = [];
client.onerror = (error) => stray.push(error);

await client.connect(transport);
assert.equal(isSecond ? client.getNegotiatedProtocolVersion() : agreed(), revision);
assert.equal(client.getServerVersion()?.name, 'wireline-example');

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).sort(), ['add', 'echo']);
assert.deepEqual(tools.find((tool) => tool.name === 'echo').inputSchema.required, ['text']);

assert.equal(await echo('é\n"😀"'), 'é\n"😀"');
const sum = await client.callTool({ name: 'add', arguments: { a: 1, b: 2.5 } });
assert.equal(textOf(sum), '3.5');
assert.deepEqual(sum.structuredContent, { sum: 3.5 });
assert.equal((await client.callTool({ name: 'add', arguments: { a: 1e308, b: 1e308 } })).isError, true);

const texts = Array.from({ length: 1000 }, (_, i) => `number ${i}`);
assert.deepEqual(await Promise.all(texts.map(echo)), texts);

assert.ok((await echo(large)) === large, 'a large text came back changed');

for (const params of [
    { name: 'nope', arguments: {} },
    { name: 'echo', arguments: {} },
    { name: 'add', arguments: { a: 1, b: '2' } },
]) {
    // rmcp takes bad arguments for a failure of the tool.
    const failed = (result) => assert.deepEqual([result.isError, params.name !== 'nope'], [true, true]);
    await client.callTool(params).then(failed, (error) => assert.equal(error.code, -32602));
}

await client.close();
assert.deepEqual(stray, []);
clearTimeout(watchdog);
const manifest = new URL(`node_modules/${sdk}/package.json`, import.meta.url);
const { name, version } = JSON.parse(await readFile(manifest, 'utf8'));
console.log(`${name} ${version}: ${revision}, ${((performance.now() - start) / 1000).toFixed(1)} s`);
// Older SDKs don't wait for the server, which exits when its input ends.
process.exit();

async function echo(text) {
    return textOf(await client.callTool({ name: 'echo', arguments: { text } }));
}

function textOf(result) {
    assert.equal(result.content.length, 1);
    assert.equal(result.content[0].type, 'text');
    return result.content[0].text;
}

// Returns a function for the revision in the server's answer to `initialize`, which not every SDK exposes.
function watchHandshake(transport) {
    let deliver, answered;
    Object.defineProperty(transport, 'onmessage', {
        get: () => deliver,
        set: (handler) => {
            deliver = (message, ...rest) => {
                answered ??= message.result?.protocolVersion;
                handler(message, ...rest);
            };
        },
    });
    return () => answered;
}
