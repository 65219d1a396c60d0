/**
 * The side towards the backend: undici, or a client on kept `node:net` sockets with llhttp. The one on `net` opens a
 * connection whenever no kept one is free. A spike: it has no timeout, no limit, no interim responses and no TLS.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type Dispatcher, Pool } from 'undici';
import { forwarded, type Heads } from './heads.ts';
import { type Answer, type Asked, type Relay, type Writing, write } from './listener.ts';
import { HttpParser } from './llhttp.ts';

export function throughUndici(origin: string): Relay {
  const pool = new Pool(origin);
  return ({ method, url, headers, body }, answer) => {
    const options = { method: method as Dispatcher.HttpMethod, path: url, headers: forwarded(headers), body };
    pool.dispatch(options, new Gathered(answer));
  };
}

class Gathered implements Dispatcher.DispatchHandler {
  readonly #answer: Answer;
  readonly #chunks: Buffer[] = [];
  #status = 0;
  readonly #headers: string[] = [];

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  onRequestStart(): void {
    // Its presence tells undici which of its two interfaces this is.
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    for (const name in headers) {
      const value = headers[name];
      if (typeof value === 'string') this.#headers.push(name, value);
      else for (const one of value ?? []) this.#headers.push(name, one);
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first, ...rest] = this.#chunks;
    const body = first !== undefined && rest.length === 0 ? first : Buffer.concat(this.#chunks);
    this.#answer.send(this.#status, this.#headers, body);
  }

  onResponseError(): void {
    this.#answer.fail();
  }
}

export function throughNet(origin: string, writing: Writing, heads: Heads): Relay {
  const { hostname, port, host } = new URL(origin);
  const free: KeptSocket[] = [];
  const relay: Relay = (asked, answer) => {
    const start = `${asked.method} ${asked.url} HTTP/1.1\r\nhost: ${host}\r\n`;
    const head = heads(start, asked.headers, asked.body.length);
    const kept = free.pop();
    if (kept === undefined) {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      new KeptSocket(socket, free).ask(head, asked, answer, writing);
      return;
    }
    // What the backend sent or closed while the connection was idle is read first, as undici does. Otherwise bytes that
    // answer no request would be taken for the answer to this one.
    setImmediate(() => {
      if (kept.isLost) relay(asked, answer);
      else kept.ask(head, asked, answer, writing);
    });
  };
  return relay;
}

class KeptSocket {
  readonly #socket: Socket;
  readonly #parser = new HttpParser('response');
  /** Where it goes once it is free again. */
  readonly #free: KeptSocket[];
  #answer: Answer | undefined;

  constructor(socket: Socket, free: KeptSocket[]) {
    this.#socket = socket;
    this.#free = free;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('end', () => this.#end());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#close());
  }

  get isLost(): boolean {
    return this.#socket.destroyed;
  }

  ask(head: string, { body }: Asked, answer: Answer, writing: Writing): void {
    this.#answer = answer;
    write(this.#socket, head, body, writing);
  }

  #read(chunk: Buffer): void {
    if (this.#answer === undefined) {
      this.#socket.destroy();
      return;
    }
    let used = 0;
    try {
      used = this.#parser.read(chunk);
    } catch {
      this.#socket.destroy();
      return;
    }
    this.#settle(used < chunk.length);
  }

  #end(): void {
    try {
      this.#parser.finish();
      this.#settle(true);
    } catch {
      this.#socket.destroy();
    }
  }

  /** Bytes that follow a response answer no request: such a connection is not used again. */
  #settle(isLast: boolean): void {
    const message = this.#parser.take();
    if (message === undefined) return;
    const answer = this.#answer;
    this.#answer = undefined;
    if (isLast || !message.keepAlive) this.#socket.destroy();
    else this.#free.push(this);
    answer?.send(message.status, message.headers, message.body);
  }

  #close(): void {
    const at = this.#free.indexOf(this);
    if (at !== -1) this.#free.splice(at, 1);
    this.#parser.free();
    this.#answer?.fail();
    this.#answer = undefined;
  }
}
