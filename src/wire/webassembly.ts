/**
 * Writes WebAssembly modules of one function: the few instructions and the binary format that such a module needs. The
 * operands of an instruction come first, as the stack machine takes them.
 * https://webassembly.github.io/spec/core/binary/index.html
 */

/** Instructions: bytes, or groups of them. */
export type Wasm = number | readonly Wasm[];

export const i32 = {
  const: (value: number): Wasm => [0x41, signed(value)],
  add: (a: Wasm, b: Wasm): Wasm => [a, b, 0x6a],
  sub: (a: Wasm, b: Wasm): Wasm => [a, b, 0x6b],
  or: (a: Wasm, b: Wasm): Wasm => [a, b, 0x72],
  xor: (a: Wasm, b: Wasm): Wasm => [a, b, 0x73],
  eqz: (a: Wasm): Wasm => [a, 0x45],
  eq: (a: Wasm, b: Wasm): Wasm => [a, b, 0x46],
  ne: (a: Wasm, b: Wasm): Wasm => [a, b, 0x47],
  ge: (a: Wasm, b: Wasm): Wasm => [a, b, 0x4f],
  load: (at: Wasm, offset: number): Wasm => [at, 0x28, 2, unsigned(offset)],
  store: (at: Wasm, value: Wasm, offset: number): Wasm => [at, value, 0x36, 2, unsigned(offset)],
  loadByte: (at: Wasm, offset: number): Wasm => [at, 0x2d, 0, unsigned(offset)],
  storeByte: (at: Wasm, value: Wasm, offset: number): Wasm => [at, value, 0x3a, 0, unsigned(offset)],
  /** The lower half of an i64. */
  of: (a: Wasm): Wasm => [a, 0xa7],
};

export const i64 = {
  const: (value: number | bigint): Wasm => [0x42, signed(value)],
  and: (a: Wasm, b: Wasm): Wasm => [a, b, 0x83],
  or: (a: Wasm, b: Wasm): Wasm => [a, b, 0x84],
  xor: (a: Wasm, b: Wasm): Wasm => [a, b, 0x85],
  not: (a: Wasm): Wasm => [a, i64.const(-1), 0x85],
  sub: (a: Wasm, b: Wasm): Wasm => [a, b, 0x7d],
  left: (a: Wasm, bits: number): Wasm => [a, i64.const(bits), 0x86],
  /** Copies of the top bit come in from the left. */
  rightSigned: (a: Wasm, bits: number): Wasm => [a, i64.const(bits), 0x87],
  right: (a: Wasm, bits: number): Wasm => [a, i64.const(bits), 0x88],
  eqz: (a: Wasm): Wasm => [a, 0x50],
  /** The index of the lowest set bit. */
  lowest: (a: Wasm): Wasm => [a, 0x7a],
  load: (at: Wasm, offset: number): Wasm => [at, 0x29, 3, unsigned(offset)],
  store: (at: Wasm, value: Wasm, offset: number): Wasm => [at, value, 0x37, 3, unsigned(offset)],
};

/** Sixteen bytes at once. */
export const bytes16 = {
  load: (at: Wasm, offset: number): Wasm => [at, 0xfd, 0x00, 0, unsigned(offset)],
  all: (byte: number): Wasm => [0xfd, 0x0c, ...new Array<number>(16).fill(byte)],
  and: (a: Wasm, b: Wasm): Wasm => [a, b, 0xfd, 0x4e],
  eq: (a: Wasm, b: Wasm): Wasm => [a, b, 0xfd, 0x23],
  /** The top bits of the bytes, as an i64. */
  bits: (a: Wasm): Wasm => [a, 0xfd, 0x64, 0xad],
};

export const local = {
  get: (index: number): Wasm => [0x20, index],
  set: (index: number, value: Wasm): Wasm => [value, 0x21, index],
};

const NO_VALUE = 0x40;
/** Repeats, until a `leave` or a `giveBack`. */
export const forever = (...body: Wasm[]): Wasm => [0x02, NO_VALUE, 0x03, NO_VALUE, body, 0x0c, 0, 0x0b, 0x0b];
/** What `leave` has to count: a loop is two blocks, a condition is one. */
export const LOOP = 2;
export const CONDITION = 1;
/** Leaves the loop that is `inside` blocks further out than the innermost one here. */
export const leave = (inside: number): Wasm => [0x0c, inside + 1];
export const leaveIf = (condition: Wasm): Wasm => [condition, 0x0d, 1];
export const when = (condition: Wasm, ...then: Wasm[]): Wasm => [condition, 0x04, NO_VALUE, then, 0x0b];
export const either = (condition: Wasm, then: Wasm, otherwise: Wasm): Wasm => [
  condition,
  0x04,
  NO_VALUE,
  then,
  0x05,
  otherwise,
  0x0b,
];
export const giveBack = (value: Wasm): Wasm => [value, 0x0f];

export interface Program {
  /** Locals of each type, in this order after the one parameter, which is an i32. */
  readonly locals: { readonly i32: number; readonly i64: number; readonly bytes16: number };
  /** Leaves an i32. */
  readonly body: Wasm;
}

/** The module: it exports its one page of memory as `memory`, and the function as `run`. */
export function assemble({ locals, body }: Program): Uint8Array {
  const declared = list([unsigned(locals.i32), I32], [unsigned(locals.i64), I64], [unsigned(locals.bytes16), V128]);
  const code = flat([declared, body, 0x0b]);
  return Uint8Array.from(
    flat([
      [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
      section(1, list([0x60, list(I32), list(I32)])),
      section(3, list(0)),
      section(5, list([0x00, 1])),
      section(7, list([name('memory'), 0x02, 0], [name('run'), 0x00, 0])),
      section(10, list([unsigned(code.length), code])),
    ]),
  );
}

const I32 = 0x7f;
const I64 = 0x7e;
const V128 = 0x7b;

function section(id: number, content: Wasm): Wasm {
  const bytes = flat(content);
  return [id, unsigned(bytes.length), bytes];
}

function list(...items: Wasm[]): Wasm {
  return [unsigned(items.length), items];
}

function name(text: string): Wasm {
  return list(...Buffer.from(text));
}

function flat(code: Wasm): number[] {
  return typeof code === 'number' ? [code] : code.flatMap(flat);
}

/** LEB128: seven bits per byte, the lowest first. */
function unsigned(value: number): Wasm {
  return value < 0x80 ? value : [(value & 0x7f) | 0x80, unsigned(value >>> 7)];
}

function signed(value: number | bigint): Wasm {
  const [low, rest] = [Number(BigInt(value) & 0x7fn), BigInt(value) >> 7n];
  const isLast = rest === (low < 0x40 ? 0n : -1n);
  return isLast ? low : [low | 0x80, signed(rest)];
}
