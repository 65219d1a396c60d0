/**
 * The side towards clients: `node:http`, or a listener on `node:net` with llhttp. The one on `net` reads one request at
 * a time from each connection and leaves a pipelined one in the socket. A spike: it has no timeout, no limit of bodies
 * or connections, no streams and no upgrade.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { gather, listen, serve } from '../server.ts';
import { forwarded, type Heads, statusLine } from './heads.ts';
import { type HttpMessage, HttpParser } from './llhttp.ts';

export type Asked = Pick<HttpMessage, 'method' | 'url' | 'headers' | 'body'>;

export interface Answer {
  /** `headers` as the backend sent them. */
  send(status: number, headers: readonly string[], body: Buffer): void;
  /** Cuts the connection: the bench takes a broken answer as a failure. */
  fail(): void;
}

export type Relay = (asked: Asked, answer: Answer) => void;

/** How head and body of a message reach the socket. */
export type Writing = 'one' | 'two';

export function listenHttp(relay: Relay, writing: Writing): Server {
  return serve((request, response) => {
    const answer: Answer = {
      send: (status, headers, body) => {
        const kept = forwarded(headers);
        kept.push('content-length', String(body.length));
        response.writeHead(status, kept);
        // Node joins head and body where the body is a string.
        if (writing === 'one') response.end(body.toString('latin1'), 'latin1');
        else response.end(body);
      },
      fail: () => void response.destroy(),
    };
    const { method = '', url = '', rawHeaders: headers } = request;
    gather(request, (body) => relay({ method, url, headers, body }, answer));
  });
}

export function listenNet(relay: Relay, writing: Writing, heads: Heads): Server {
  return listen(createServer({ noDelay: true }, (socket) => new Connection(socket, relay, writing, heads)));
}

class Connection implements Answer {
  readonly #socket: Socket;
  readonly #relay: Relay;
  readonly #writing: Writing;
  readonly #heads: Heads;
  readonly #parser = new HttpParser('request');
  /** The request that is being answered. */
  #asked: HttpMessage | undefined;
  /** What came behind it. */
  #rest: Buffer | undefined;

  constructor(socket: Socket, relay: Relay, writing: Writing, heads: Heads) {
    this.#socket = socket;
    this.#relay = relay;
    this.#writing = writing;
    this.#heads = heads;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#parser.free());
  }

  send(status: number, headers: readonly string[], body: Buffer): void {
    const { keepAlive = false } = this.#asked ?? {};
    if (this.#socket.destroyed) return;
    const head = this.#heads(statusLine(status), headers, body.length);
    write(this.#socket, head, body, this.#writing);
    this.#asked = undefined;
    if (!keepAlive) this.#socket.end();
    else if (this.#rest !== undefined) this.#next(this.#rest);
  }

  fail(): void {
    this.#socket.destroy();
  }

  #next(rest: Buffer): void {
    this.#rest = undefined;
    this.#socket.resume();
    this.#read(rest);
  }

  #read(chunk: Buffer): void {
    if (this.#asked !== undefined) {
      this.#wait(chunk);
      return;
    }
    try {
      const used = this.#parser.read(chunk);
      if (used < chunk.length) this.#wait(chunk.subarray(used));
    } catch {
      this.#socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    this.#asked = this.#parser.take();
    if (this.#asked !== undefined) this.#relay(this.#asked, this);
  }

  #wait(bytes: Buffer): void {
    this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#socket.pause();
  }
}

export function write(socket: Socket, head: string, body: Buffer, writing: Writing): void {
  if (writing === 'one') {
    socket.write(head + body.toString('latin1'), 'latin1');
    return;
  }
  socket.cork();
  socket.write(head, 'latin1');
  socket.write(body);
  socket.uncork();
}
