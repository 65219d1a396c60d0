/**
 * The text of a pin file. It is made for reviews: sorted, a block for each pin, a line for each member.
 *
 *     bascule pins 1
 *
 *     files tool "read_file" sha256:2c26b46b…
 *       {
 *         "description": "Reads a file",
 *         "name": "read_file"
 *       }
 *
 * A thing may have several pins, where a backend shows it to different people in different forms.
 */
import { hashOf, keyOf, type Pin, type PinDigest, type PinKind, pinKinds } from './pin.ts';
import { quoted } from './quoted.ts';
import { checkSize, readPinText } from './read-value.ts';
import { canonicalText, prettyText, Unpinnable } from './value.ts';

/** The message says what is wrong with the file, and where. */
export class PinFileError extends Error {
  override readonly name = 'PinFileError';
}

const FIRST_LINE = 'bascule pins 1';
const MiB = 1024 * 1024;
/** A thousand tools with large schemas. */
const FILE_CHARACTERS = 32 * MiB;
const MOST_PINS = 20_000;
const INDENT = '  ';
const head = /^([A-Za-z0-9._-]{1,64}) ([a-z]+) ("(?:[^"\\]|\\.)*") (sha256:[0-9a-f]{64})$/;

/** Throws a `PinFileError`: a file is read whole or not at all. */
export function readPinFile(text: string, digest: PinDigest): readonly Pin[] {
  if (text.length > FILE_CHARACTERS) throw new PinFileError(`it has more than ${FILE_CHARACTERS} characters`);
  const lines = text.split(/\r?\n/);
  if (lines[0] !== FIRST_LINE) throw new PinFileError(`line 1 is not \`${FIRST_LINE}\``);
  const pins: Pin[] = [];
  let at = 1;
  while (at < lines.length) {
    if (lines[at] === '') {
      at += 1;
      continue;
    }
    const start = at;
    at += 1;
    while (lines[at]?.startsWith(INDENT) === true) at += 1;
    pins.push(readBlock(lines[start] ?? '', lines.slice(start + 1, at), start + 1, digest));
    if (pins.length > MOST_PINS) throw new PinFileError(`it has more than ${MOST_PINS} pins`);
  }
  const ids = new Set(pins.map((pin) => `${pin.hash} ${keyOf(pin)}`));
  if (ids.size < pins.length) throw new PinFileError('it has the same pin twice');
  return pins;
}

function readBlock(first: string, body: readonly string[], line: number, digest: PinDigest): Pin {
  const [, backend, kind, quoted, hash] = head.exec(first) ?? [];
  const name = quoted === undefined ? undefined : nameIn(quoted);
  if (backend === undefined || hash === undefined || name === undefined || !isPinKind(kind))
    throw new PinFileError(`line ${line} is not a pin: a backend, a kind, a name in quotes and a hash`);
  try {
    const value = readPinText(body.join('\n'));
    checkSize(Buffer.byteLength(canonicalText(value)));
    if (hashOf(value, digest) === hash) return { backend, kind, name, hash, value };
  } catch (error) {
    if (!(error instanceof Unpinnable)) throw error;
    throw new PinFileError(`the pin of line ${line} cannot be read: ${error.message}`);
  }
  throw new PinFileError(`the pin of line ${line} does not have the hash that the line says`);
}

function nameIn(quoted: string): string | undefined {
  try {
    const name: unknown = JSON.parse(quoted);
    return typeof name === 'string' ? name : undefined;
  } catch {
    return undefined;
  }
}

function isPinKind(kind: string | undefined): kind is PinKind {
  return pinKinds.some((one) => one === kind);
}

/** Throws a `PinFileError` where `readPinFile` would refuse the text: what is approved must not hold everything. */
export function writePinFile(pins: readonly Pin[], digest: PinDigest): string {
  const sorted = [...pins].sort((a, b) => compare(keyOf(a), keyOf(b)) || compare(a.hash, b.hash));
  const parts = [`${FIRST_LINE}\n`];
  let size = 0;
  for (const { backend, kind, name, hash, value } of sorted) {
    const body = `${INDENT}${prettyText(value, INDENT)}`;
    const block = `\n${backend} ${kind} ${quoted(name)} ${hash}\n${body}\n`;
    parts.push(block);
    size += block.length;
    // Before more memory is used: deep values have long texts.
    if (size > FILE_CHARACTERS)
      throw new PinFileError(`the file would have more than ${FILE_CHARACTERS} characters; approve less, by name`);
  }
  const text = parts.join('');
  readPinFile(text, digest);
  return text;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
