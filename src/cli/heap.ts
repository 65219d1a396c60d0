/**
 * How much garbage may pile up before it is collected. Results of a megabyte pass through buffers outside of V8's heap,
 * and V8 counts them against a heap of 16 MB: by default it collects everything after each ten of them, which costs
 * more than all our own work on them (docs/decisions/0006-garbage.md). Three times what is in use costs some tens of
 * megabytes.
 *
 * Importing this file is enough. V8 reads the flag at every collection, so it can be set while running. A runtime that
 * does not know the flag says so on stderr and continues.
 */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--heap-growing-percent=200');
