/**
 * `npm run bench:scan`: what reading a body costs in CPU time per byte, for a plain body and for bodies that were made
 * to be dear. Ends with status 1 where the dearest costs more than three times a plain one. Each row is the best of
 * several rounds, since the machine is never quiet. A body that is refused half-way counts with all of its bytes: they
 * were sent.
 */
import { Failure } from '../src/errors/failure.ts';
import { readMessage } from '../src/wire/scan.ts';

const MOST = 3;
const ROUNDS = 7;
/** As large as a body may be by default. */
const BYTES = 4 * 1024 * 1024;
const limits = { depth: 128 };

/** As many pieces as fit, one behind the other. */
function filled(head: string, piece: (at: number) => string, tail: string): Buffer {
  const parts = [head];
  let size = Buffer.byteLength(head) + Buffer.byteLength(tail);
  for (let at = 0; ; at++) {
    const next = `${at === 0 ? '' : ','}${piece(at)}`;
    size += Buffer.byteLength(next);
    if (size > BYTES) break;
    parts.push(next);
  }
  return Buffer.from(`${parts.join('')}${tail}`);
}

const call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"';
const inArguments = (open: string, piece: (at: number) => string, close: string) =>
  filled(`${call},"arguments":{"a":${open}`, piece, `${close}}}}`);
const short = (at: number) => at.toString(36);

/** Three characters of an escape for one: `\u0061`. */
const escaped = (at: number) =>
  [...short(at)].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
/** Names of eight bytes that differ in ways which a plain multiplicative hash does not see. */
const similar = (at: number) => `${String.fromCharCode(0x41 + (at % 26))}aaa${short(at).padStart(4, '0')}`;

const plain = inArguments(
  '[',
  (at) =>
    `{"id":${at},"name":"Person number ${at}","email":"person${at}@example.com","active":true,"score":${at / 8},"tags":["a","bc"]}`,
  ']',
);

const shapes: Readonly<Record<string, Buffer>> = {
  'members of the message': filled('{"jsonrpc":"2.0","id":1,"method":"ping",', (at) => `"${short(at)}":0`, '}'),
  'members of params': filled(`${call},`, (at) => `"${short(at)}":0`, '}}'),
  'members of _meta': filled(`${call},"_meta":{`, (at) => `"${short(at)}":0`, '}}}'),
  'short names in one object': inArguments('{', (at) => `"${short(at)}":0`, '}'),
  'names with escapes': inArguments('{', (at) => `"\\n${short(at)}":0`, '}'),
  'names of escapes alone': inArguments('{', (at) => `"${escaped(at)}":0`, '}'),
  'names of several bytes a character': inArguments('{', (at) => `"é${short(at)}":0`, '}'),
  'names that end in several bytes': inArguments('{', (at) => `"${short(at)}é":0`, '}'),
  'names that are alike': inArguments('{', (at) => `"${similar(at)}":0`, '}'),
  'long names of params': filled(`${call},`, (at) => `"${'\u0131'.repeat(2040)}${short(at)}":0`, '}}'),
  'long names of params, with escapes': filled(`${call},`, (at) => `"${'\\n'.repeat(2040)}${short(at)}":0`, '}}'),
  'long names': inArguments('{', (at) => `"${'n'.repeat(17)}${short(at)}":0`, '}'),
  'long names with escapes': inArguments('{', (at) => `"${'\\u0061'.repeat(17)}${short(at)}":0`, '}'),
  'small objects': inArguments('[', () => '{"a":0}', ']'),
  'objects of seventeen members': inArguments(
    '[',
    () => `{${Array.from({ length: 17 }, (_, at) => `"${short(at)}":0`).join(',')}}`,
    ']',
  ),
  'objects of thirty-three members': inArguments(
    '[',
    () => `{${Array.from({ length: 33 }, (_, at) => `"${short(at)}":0`).join(',')}}`,
    ']',
  ),
  'objects with twins': inArguments('[', () => '{"a":0,"a":0}', ']'),
  'members of a ref': filled(
    '{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{',
    (at) => `"${short(at)}":0`,
    '}}}',
  ),
  'empty objects': inArguments('[', () => '{}', ']'),
  'deep nesting': inArguments('[', () => `${'['.repeat(120)}${']'.repeat(120)}`, ']'),
  'deep objects': inArguments('[', () => `${'{"a":'.repeat(120)}0${'}'.repeat(120)}`, ']'),
  'single digits': inArguments('[', () => '0', ']'),
  'empty strings': inArguments('[', () => '""', ']'),
  'escapes in strings': inArguments('[', () => '"\\n\\n\\n\\n\\n\\n\\n\\n"', ']'),
  'unicode escapes in strings': inArguments('[', () => '"\\u0041\\ud83d\\ude00"', ']'),
  'characters of several bytes': inArguments('[', () => '"äöüé世界😀"', ']'),
};

function read(body: Buffer): void {
  try {
    readMessage(body, limits);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
}

/** Nanoseconds of CPU time for one byte. Of this process alone: others want the machine as well. */
function cost(body: Buffer): number {
  const started = process.cpuUsage();
  read(body);
  const { user, system } = process.cpuUsage(started);
  return ((user + system) * 1_000) / body.byteLength;
}

// Every shape once before any is measured: the compiler has then seen all of them.
for (const body of [plain, ...Object.values(shapes)]) for (let round = 0; round < 2; round++) read(body);
let worst = 0;
for (const [name, body] of Object.entries(shapes)) {
  let ns = Number.POSITIVE_INFINITY;
  let yardstick = Number.POSITIVE_INFINITY;
  // In turns: the machine may be slower now than it was a second ago.
  for (let round = 0; round < ROUNDS; round++) {
    yardstick = Math.min(yardstick, cost(plain));
    ns = Math.min(ns, cost(body));
  }
  const ratio = ns / yardstick;
  worst = Math.max(worst, ratio);
  const columns = [
    name.padEnd(36),
    `${ns.toFixed(2).padStart(6)} ns/byte`,
    `plain ${yardstick.toFixed(2).padStart(5)}`,
  ];
  process.stdout.write(`${columns.join('  ')}  ${ratio.toFixed(2).padStart(5)} times\n`);
}
process.stdout.write(`worst: ${worst.toFixed(2)} times a plain body, at most ${MOST}\n`);
if (worst > MOST) process.exitCode = 1;
