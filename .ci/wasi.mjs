// Runs a program compiled for wasm32-wasip1, as Cargo's runner: node --no-turbo-fast-api-calls wasi.mjs PROGRAM [ARGUMENT...]
//
// Without that option of V8's, calls into WASI crash Node 20 and 22 now and then.
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const args = process.argv.slice(2);
const folder = process.cwd();
const wasi = new WASI({ version: 'preview1', args, env: process.env, preopens: { '.': folder, [folder]: folder } });
const { instance } = await WebAssembly.instantiate(readFileSync(args[0]), wasi.getImportObject());
try {
    process.exitCode = wasi.start(instance);
} catch (error) {
    // A panic aborts the program, after it has printed its message.
    console.error(`${error}`);
    process.exitCode = 101;
}
