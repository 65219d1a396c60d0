/**
 * Starts the program from the code that V8 compiled when the program was built (scripts/code-cache.js). V8 itself
 * rejects the code of another version of Node or of other flags, and compiles the text then: this takes longer, and
 * nothing else is different (docs/decisions/0017-start-up.md).
 */
import './v8-flags.ts';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';

type BundledProgram = (require: NodeJS.Require, programUrl: string) => void;

const file = join(__dirname, 'bascule.js');
const programUrl = pathToFileURL(file).href;

export const script = compile();
const program: BundledProgram = script.runInThisContext();
program(createRequire(file), programUrl);

/** Returns before the program runs: a frame on the stack would keep the buffers that are read here. */
function compile(): Script {
  // The program is ASCII (scripts/bundle.js), and V8 keeps such a text at a byte for each character.
  return new Script(readFileSync(file, 'latin1'), { filename: programUrl, ...keptCode(`${file}.cache`) });
}

function keptCode(path: string): { readonly cachedData?: Buffer } {
  try {
    return { cachedData: readFileSync(path) };
  } catch {
    // The build could not write one.
    return {};
  }
}
