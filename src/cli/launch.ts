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

type Program = (require: NodeJS.Require, programUrl: string) => void;

const file = join(__dirname, 'bascule.js');
const programUrl = pathToFileURL(file).href;

// The program is ASCII (scripts/bundle.js), and V8 keeps such a text at a byte for each character.
const text = readFileSync(file, 'latin1');
export const script = new Script(text, { filename: programUrl, ...keptCode(`${file}.cache`) });
const program: Program = script.runInThisContext();
program(createRequire(file), programUrl);

function keptCode(path: string): { readonly cachedData?: Buffer } {
  try {
    return { cachedData: readFileSync(path) };
  } catch {
    // The build could not write one.
    return {};
  }
}
