/**
 * Loads Cedar when the first config needs it: it takes a tenth of a second and 75 MB. Synchronously, because configs
 * are read synchronously; that is what `require` can do.
 */
import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import type * as Cedar from '@cedar-policy/cedar-wasm/nodejs';

export type CedarModule = typeof Cedar;

/** Set by the bundler: the file beside the program. */
declare const BUNDLED_CEDAR: string | undefined;

let loaded: CedarModule | undefined;

export function loadCedar(): CedarModule {
  const place = typeof BUNDLED_CEDAR === 'string' ? BUNDLED_CEDAR : '@cedar-policy/cedar-wasm/nodejs';
  if (loaded === undefined) {
    // V8 of Node 20 was seen to end the process ("unreachable code", in its deoptimizer) in code into which it had
    // inlined calls of Cedar's WebAssembly. Evaluations cost the same without it.
    setFlagsFromString('--no-turbo-inline-js-wasm-calls');
    loaded = createRequire(import.meta.url)(place) as CedarModule;
  }
  return loaded;
}
