/** Writes DER (X.690), as far as certificates need it. Nothing is read here: Node's own code reads certificates. */

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const SEQUENCE = 0x30;
const SET = 0x31;
const CONTEXT = 0x80;
const CONSTRUCTED = 0x20;

export function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.byteLength)]), content]);
}

function lengthOf(size: number): number[] {
  if (size < 0x80) return [size];
  const bytes: number[] = [];
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 + bytes.length, ...bytes];
}

export const sequence = (...parts: readonly Uint8Array[]) => tagged(SEQUENCE, ...parts);
export const setOf = (...parts: readonly Uint8Array[]) => tagged(SET, ...parts);
export const octets = (...parts: readonly Uint8Array[]) => tagged(OCTET_STRING, ...parts);
export const text = (value: string) => tagged(UTF8_STRING, Buffer.from(value));
export const yes = Buffer.from([0x01, 0x01, 0xff]);

/** `bytes`: big-endian, not negative. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const shortest = first === -1 ? Buffer.from([0]) : bytes.subarray(first);
  // A leading one bit would make it negative.
  const sign = (shortest[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : [];
  return tagged(INTEGER, ...sign, shortest);
}

/** `unused`: bits at the end that do not count. */
export function bits(bytes: Uint8Array, unused = 0): Buffer {
  return tagged(BIT_STRING, Buffer.from([unused]), bytes);
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tagged(OBJECT_ID, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const groups = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) groups.unshift(128 + (rest % 128));
  return groups;
}

/** RFC 5280, 4.1.2.5: two digits of the year until 2049, four from then on. */
export function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;
  return Number(digits.slice(0, 4)) < 2050
    ? tagged(UTC_TIME, Buffer.from(digits.slice(2)))
    : tagged(GENERALIZED_TIME, Buffer.from(digits));
}

/** `[number]`, in place of the content's own tag. */
export const implicit = (number: number, ...parts: readonly Uint8Array[]) => tagged(CONTEXT + number, ...parts);
/** `[number]`, around other values. */
export const explicit = (number: number, ...parts: readonly Uint8Array[]) =>
  tagged(CONTEXT + CONSTRUCTED + number, ...parts);
