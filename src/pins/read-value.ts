/**
 * Reads a value that is to be pinned: strictly, so that no two readers can read it in different ways, and in one pass,
 * since a backend sends it.
 */
import { Numeral, type PinValue, Unpinnable } from './value.ts';

/** Larger than the definition of any tool that a model could use. */
const ENTRY_BYTES = 256 * 1024;
/** Deeper than any schema, and far from what overflows the stack. */
const DEPTH = 64;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const string = /"[^"\\]*(?:\\.[^"\\]*)*"/y;
const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** What a backend sent. Throws an `Unpinnable`, and nothing else. */
export function readPinValue(bytes: Uint8Array): PinValue {
  checkSize(bytes.byteLength);
  return read(() => utf8.decode(bytes));
}

/** What a pin file says. Its layout may be much larger than the value. Throws an `Unpinnable`, and nothing else. */
export function readPinText(text: string): PinValue {
  return read(() => text);
}

/** Of the value, without the layout. Throws an `Unpinnable`. */
export function checkSize(bytes: number): void {
  if (bytes > ENTRY_BYTES) throw new Unpinnable(`it has more than ${ENTRY_BYTES} bytes`);
}

function read(text: () => string): PinValue {
  try {
    return new ValueReader(text()).whole();
  } catch (error) {
    throw error instanceof Unpinnable ? error : new Unpinnable('it is not JSON');
  }
}

class ValueReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): PinValue {
    const value = this.#value(0);
    if (this.#at < this.#text.length) throw new SyntaxError('text after the value');
    return value;
  }

  /** With the white space around it. */
  #value(depth: number): PinValue {
    if (depth > DEPTH) throw new Unpinnable(`it is nested more than ${DEPTH} levels deep`);
    this.#skipWhite();
    const value = this.#bare(depth);
    this.#skipWhite();
    return value;
  }

  #bare(depth: number): PinValue {
    switch (this.#text[this.#at]) {
      case '{':
        return this.#members(depth + 1);
      case '[':
        return this.#elements(depth + 1);
      case '"':
        return this.#string();
      case 't':
        return this.#literal('true', true);
      case 'f':
        return this.#literal('false', false);
      case 'n':
        return this.#literal('null', null);
      default:
        return new Numeral(this.#expect(numeral));
    }
  }

  #literal(name: string, value: PinValue): PinValue {
    this.#take(name);
    return value;
  }

  #elements(depth: number): readonly PinValue[] {
    const elements: PinValue[] = [];
    this.#take('[');
    this.#skipWhite();
    if (this.#skip(']')) return elements;
    do elements.push(this.#value(depth));
    while (this.#skip(','));
    this.#take(']');
    return elements;
  }

  #members(depth: number): PinValue {
    const members = new Map<string, PinValue>();
    this.#take('{');
    this.#skipWhite();
    if (this.#skip('}')) return members;
    do {
      this.#skipWhite();
      const key = this.#string();
      // Two readers could use different ones.
      if (members.has(key)) throw new Unpinnable('a member is there twice');
      this.#skipWhite();
      this.#take(':');
      members.set(key, this.#value(depth));
    } while (this.#skip(','));
    this.#take('}');
    return new Map([...members].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Its escapes, and that it has no control characters, are left to the engine. */
  #string(): string {
    return JSON.parse(this.#expect(string)) as string;
  }

  #skip(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  #take(token: string): void {
    if (!this.#skip(token)) throw new SyntaxError(`no ${token}`);
  }

  #skipWhite(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at++;
    }
  }

  #expect(pattern: RegExp): string {
    const start = this.#at;
    pattern.lastIndex = start;
    if (!pattern.test(this.#text)) throw new SyntaxError('no value');
    this.#at = pattern.lastIndex;
    return this.#text.slice(start, this.#at);
  }
}
