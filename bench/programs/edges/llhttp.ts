/**
 * HTTP/1.1 messages, read by llhttp with no leniency flag set. The parser is the WebAssembly build that undici ships:
 * the file is not part of undici's interface, so a program that is not a spike needs a build of its own.
 *
 * A spike: bodies and chunk extensions have no limit. Trailers are not kept.
 */
// Renamed: the bundle declares the original name in its banner.
import { createRequire as makeRequire } from 'node:module';

export interface HttpMessage {
  /** Of a request. */
  readonly method: string;
  readonly url: string;
  /** Of a response. */
  readonly status: number;
  /** Names and values in turn, names as they were sent. */
  readonly headers: string[];
  readonly body: Buffer;
  readonly keepAlive: boolean;
}

export class HttpSyntaxError extends Error {}

/** Node has it, but its types do not declare it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

interface Llhttp {
  readonly memory: { readonly buffer: ArrayBuffer };
  malloc(size: number): number;
  free(at: number): void;
  llhttp_alloc(type: number): number;
  llhttp_free(parser: number): void;
  llhttp_execute(parser: number, at: number, size: number): number;
  llhttp_finish(parser: number): number;
  llhttp_resume(parser: number): void;
  llhttp_get_error_pos(parser: number): number;
  llhttp_errno_name(errno: number): number;
  llhttp_get_method(parser: number): number;
  llhttp_method_name(method: number): number;
}

const types = { request: 1, response: 2 } as const;
const OK = 0;
const PAUSED = 21;
const SKIP_BODY = 1;
const USER_ERROR = 24;
/** Node's default. */
const HEAD_BYTES = 16 * 1024;
const PAGE = 65_536;
/** Heads are decoded at once as far as this. Few are longer. */
const USUAL_HEAD = 4_096;
const nothing: Buffer = Buffer.alloc(0);

let current: HttpParser | undefined;
const on = <A extends number[]>(call: (parser: HttpParser, ...values: A) => number) => {
  return (_parser: number, ...values: A) => call(current as HttpParser, ...values);
};

const wasm = makeRequire(import.meta.url)('undici/lib/llhttp/llhttp_simd-wasm.js') as Uint8Array;
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm), {
  env: {
    wasm_on_message_begin: () => OK,
    wasm_on_status: () => OK,
    wasm_on_url: on((parser, at: number, size: number) => parser.onUrl(at, size)),
    wasm_on_header_field: on((parser, at: number, size: number) => parser.onName(at, size)),
    wasm_on_header_value: on((parser, at: number, size: number) => parser.onValue(at, size)),
    wasm_on_headers_complete: on((parser, status: number, _upgrade: number, keepAlive: number) =>
      parser.onHead(status, keepAlive === 1),
    ),
    wasm_on_body: on((parser, at: number, size: number) => parser.onBody(at, size)),
    wasm_on_message_complete: on((parser) => parser.onComplete()),
  },
});
const llhttp = exports as Llhttp;

/** All parsers read from one place in the memory of the WebAssembly instance, one after the other. */
const input = { at: 0, size: 0, view: new Uint8Array() };

function place(chunk: Buffer): void {
  if (chunk.length > input.size) {
    if (input.at !== 0) llhttp.free(input.at);
    input.size = Math.ceil(chunk.length / PAGE) * PAGE;
    input.at = llhttp.malloc(input.size);
  }
  // Memory that has grown is another buffer.
  if (input.view.buffer !== llhttp.memory.buffer || input.view.byteOffset !== input.at) {
    input.view = new Uint8Array(llhttp.memory.buffer, input.at, input.size);
  }
  input.view.set(chunk);
}

function textAt(at: number): string {
  const bytes = Buffer.from(llhttp.memory.buffer, at);
  return bytes.toString('latin1', 0, bytes.indexOf(0));
}

const methods: string[] = [];
function methodName(method: number): string {
  methods[method] ??= textAt(llhttp.llhttp_method_name(method));
  return methods[method];
}

export class HttpParser {
  readonly #type: keyof typeof types;
  readonly #parser: number;
  #chunk: Buffer = nothing;
  #text = '';
  #url = '';
  #headers: string[] = [];
  #headBytes = 0;
  #isTrailer = false;
  #isValue = true;
  #status = 0;
  #keepAlive = false;
  #first: Buffer | undefined;
  #rest: Buffer[] | undefined;
  #complete: HttpMessage | undefined;

  constructor(type: keyof typeof types) {
    this.#type = type;
    this.#parser = llhttp.llhttp_alloc(types[type]);
  }

  /** Reads as far as one message goes, and returns how many bytes that were. */
  read(chunk: Buffer): number {
    place(chunk);
    this.#chunk = chunk;
    this.#text = '';
    current = this;
    const errno = llhttp.llhttp_execute(this.#parser, input.at, chunk.length);
    this.#chunk = nothing;
    if (errno === OK) return chunk.length;
    if (errno !== PAUSED) throw new HttpSyntaxError(textAt(llhttp.llhttp_errno_name(errno)));
    const used = llhttp.llhttp_get_error_pos(this.#parser) - input.at;
    llhttp.llhttp_resume(this.#parser);
    return used;
  }

  /** The connection has ended, which is how the body of a response may end. */
  finish(): void {
    current = this;
    const errno = llhttp.llhttp_finish(this.#parser);
    if (errno !== OK && errno !== PAUSED) throw new HttpSyntaxError(textAt(llhttp.llhttp_errno_name(errno)));
  }

  /** The message that is complete, once. */
  take(): HttpMessage | undefined {
    const message = this.#complete;
    this.#complete = undefined;
    return message;
  }

  free(): void {
    llhttp.llhttp_free(this.#parser);
  }

  onUrl(at: number, size: number): number {
    this.#url += this.#slice(at, size);
    return this.#count(size);
  }

  /** A name or a value comes in pieces where a chunk ends inside. */
  onName(at: number, size: number): number {
    if (!this.#isTrailer) {
      if (this.#isValue) this.#headers.push(this.#slice(at, size), '');
      else this.#headers[this.#headers.length - 2] += this.#slice(at, size);
      this.#isValue = false;
    }
    return this.#count(size);
  }

  onValue(at: number, size: number): number {
    if (!this.#isTrailer) {
      this.#headers[this.#headers.length - 1] += this.#slice(at, size);
      this.#isValue = true;
    }
    return this.#count(size);
  }

  onHead(status: number, keepAlive: boolean): number {
    this.#status = status;
    this.#keepAlive = keepAlive;
    this.#isTrailer = true;
    return status === 204 || status === 304 ? SKIP_BODY : OK;
  }

  onBody(at: number, size: number): number {
    const start = at - input.at;
    const piece = this.#chunk.subarray(start, start + size);
    if (this.#first === undefined) this.#first = piece;
    else if (this.#rest === undefined) this.#rest = [piece];
    else this.#rest.push(piece);
    return OK;
  }

  onComplete(): number {
    const first = this.#first ?? nothing;
    this.#complete = {
      method: this.#type === 'request' ? methodName(llhttp.llhttp_get_method(this.#parser)) : '',
      url: this.#url,
      status: this.#status,
      headers: this.#headers,
      body: this.#rest === undefined ? first : Buffer.concat([first, ...this.#rest]),
      keepAlive: this.#keepAlive,
    };
    this.#url = '';
    this.#headers = [];
    this.#headBytes = 0;
    this.#isTrailer = false;
    this.#isValue = true;
    this.#first = undefined;
    this.#rest = undefined;
    return PAUSED;
  }

  #count(size: number): number {
    this.#headBytes += size;
    return this.#headBytes > HEAD_BYTES ? USER_ERROR : OK;
  }

  #slice(at: number, size: number): string {
    const start = at - input.at;
    const end = start + size;
    if (end > this.#text.length) {
      this.#text = this.#chunk.toString('latin1', 0, end > USUAL_HEAD ? this.#chunk.length : USUAL_HEAD);
    }
    return this.#text.slice(start, end);
  }
}
