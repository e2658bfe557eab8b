// Called by `run`: node node.mjs check|measure SECONDS NAME=MODULE...
//
// `measure` prints the speed of decoding, as a table: MB/s on one thread. The stream is split into slices of at most
// 64 KiB, and in each round each contender decodes each slice. The table has the sum of their best times. `wireline`
// gets bytes, which are copied into its memory. `JSON.parse` gets strings, or bytes that are decoded and split first.
import { readFile } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';

const [command, seconds, ...builds] = process.argv.slice(2);
// As in the `Corpus::ALL` of `benches/corpus`.
const corpora = [['small', 0], ['tools', 1]];
const STREAM = 1 << 20;
const ROOM = 64 << 10; // as in src/lib.rs
const LINE_FEED = 10;

const instances = await Promise.all(builds.map(async (build) => {
    const at = build.indexOf('=');
    const { instance } = await WebAssembly.instantiate(await readFile(build.slice(at + 1)));
    return { name: build.slice(0, at), exports: instance.exports };
}));

function generate({ generate, generated, memory }, corpus) {
    const length = generate(corpus, STREAM);
    const from = generated();
    return new Uint8Array(memory.buffer, from, length).slice();
}

// Splits a stream between lines into slices that fit into the room.
function slices(stream) {
    const slices = [];
    for (let from = 0; from < stream.length;) {
        const to = stream.lastIndexOf(LINE_FEED, from + ROOM - 1) + 1;
        slices.push(stream.subarray(from, to));
        from = to;
    }
    return slices;
}

function decode({ room, decode, memory }, slice) {
    const to = room();
    // A new array each time, since `memory.buffer` is replaced when the memory grows.
    new Uint8Array(memory.buffer, to, slice.length).set(slice);
    return decode(slice.length);
}

function parse(lines) {
    let messages = 0;
    for (const line of lines) {
        if (JSON.parse(line).jsonrpc === '2.0') messages += 1;
    }
    return messages;
}

function measure(corpus) {
    const stream = generate(instances[0].exports, corpus);
    const text = new TextDecoder('utf-8', { fatal: true });
    const split = (slice) => text.decode(slice).trimEnd().split('\n');
    const inputs = slices(stream).map((slice) => ({ slice, lines: split(slice) }));
    const contenders = [
        ...instances.map(({ name, exports }) => [`wireline, ${name}`, ({ slice }) => decode(exports, slice)]),
        ['`JSON.parse`, of strings', ({ lines }) => parse(lines)],
        ['`JSON.parse`, of bytes', ({ slice }) => parse(split(slice))],
    ].map(([name, run]) => ({ name, run, best: inputs.map(() => Infinity) }));
    const end = performance.now() + 1000 * seconds;
    do {
        inputs.forEach((input, nth) => {
            for (const { name, run, best } of contenders) {
                const start = performance.now();
                const messages = run(input);
                best[nth] = Math.min(best[nth], performance.now() - start);
                if (messages !== input.lines.length) throw new Error(`${name}: ${messages} of ${input.lines.length} messages`);
            }
        });
    } while (performance.now() < end);
    return contenders.map(({ name, best }) => [name, stream.length / best.reduce((sum, time) => sum + time) / 1000]);
}

if (command === 'check') {
    for (const { name, exports } of instances) {
        console.log(`${name}: ${exports.check_table()} lines at every split point, ${exports.check_session()} events`);
    }
} else {
    const columns = corpora.map(([, corpus]) => measure(corpus));
    console.log(`| MB/s | ${corpora.map(([name]) => name).join(' | ')} |`);
    console.log(`|---|${corpora.map(() => '--:|').join('')}`);
    columns[0].forEach(([name], row) => {
        console.log(`| ${name} | ${columns.map((column) => column[row][1].toFixed(0)).join(' | ')} |`);
    });
}
