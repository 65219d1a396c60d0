/**
 * Flags of V8 that can be set while running. Importing this file is enough. A runtime that does not know a flag says so
 * on stderr and continues. They are set before the program is compiled: V8 rejects code that was compiled under others.
 */
import { setFlagsFromString } from 'node:v8';

/**
 * How much garbage may pile up before it is collected. Results of a megabyte pass through buffers outside of V8's heap,
 * and V8 counts them against a heap of 16 MB: by default it collects everything after each ten of them, which costs
 * more than all our own work on them (docs/decisions/0006-garbage.md). Three times what is in use costs some tens of
 * megabytes.
 */
setFlagsFromString('--heap-growing-percent=200');

/**
 * How long WebAssembly runs before V8 optimizes it. By default V8 optimizes undici's parser of HTTP after the first few
 * responses, while the gateway starts: that takes 100 ms of CPU and 30 MB, of which 10 MB stay with the process. With
 * this budget it happens after about a hundred responses.
 */
setFlagsFromString('--wasm-tiering-budget=300000000');
