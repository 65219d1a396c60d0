/**
 * Starts the program from the code that V8 compiled when the program was built (scripts/code-cache.js). V8 itself
 * rejects code of other flags, and compiles the text then: this takes longer, and nothing else is different
 * (docs/decisions/0017-start-up.md).
 */
import './v8-flags.ts';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';

type BundledProgram = (require: NodeJS.Require, programUrl: string) => void;

const file = join(__dirname, 'bascule.js');
const programUrl = pathToFileURL(file).href;

/** Before the code in its file: the SHA-256 of the code, and of all that it was compiled by and from. */
const DIGEST_BYTES = 32;

export const script = compile();
const program: BundledProgram = script.runInThisContext();
program(createRequire(file), programUrl);

/** Returns before the program runs: a frame on the stack would keep the buffers that are read here. */
function compile(): Script {
  const text = readFileSync(file);
  const cachedData = keptCode(text);
  // The program is ASCII (scripts/bundle.js), and V8 keeps such a text at a byte for each character.
  return new Script(text.toString('latin1'), { filename: programUrl, ...(cachedData && { cachedData }) });
}

/** Undefined where the build could not write it, or it is not what the build of this text wrote for this Node. */
function keptCode(text: Buffer): Buffer | undefined {
  try {
    const kept = readFileSync(`${file}.cache`);
    const code = kept.subarray(DIGEST_BYTES);
    return digestOf(text, code).equals(kept.subarray(0, DIGEST_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** The file that holds the code. For the build. */
export function withDigest(code: Buffer): Buffer {
  return Buffer.concat([digestOf(readFileSync(file), code), code]);
}

/**
 * V8 compares its version and flags and the length of the text, and no more: damaged code crashes the process, and a
 * text of the same length would be ignored.
 */
function digestOf(text: Buffer, code: Buffer): Buffer {
  const { version, platform, arch } = process;
  return createHash('sha256').update(`${version} ${platform} ${arch}\n`).update(text).update(code).digest();
}
