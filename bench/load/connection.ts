/** One keep-alive connection to a contestant, one request at a time. */
import { connect, type Socket } from 'node:net';
import { type Answer, AnswerParser, headerOf } from './parser.ts';

/** Nothing here takes longer than a second; whoever is silent for so long has lost the request. */
const SILENCE_MS = 20_000;

interface Waiter {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export class Connection {
  readonly #socket: Socket;
  readonly #parser = new AnswerParser();
  #waiter: Waiter | undefined;
  #lost: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setTimeout(SILENCE_MS, () => {
      if (this.#waiter !== undefined) socket.destroy(new Error(`no answer within ${SILENCE_MS} ms`));
    });
    socket.on('data', (chunk: Buffer) => {
      const answer = this.#parser.push(chunk);
      if (answer === undefined) return;
      const waiter = this.#waiter;
      this.#waiter = undefined;
      waiter?.resolve(answer);
    });
    socket.on('error', (error) => this.#lose(error));
    socket.on('close', () => this.#lose(new Error('the connection was closed')));
  }

  static open(url: URL): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: url.hostname, port: Number(url.port) });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket));
      });
    });
  }

  ask(request: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) {
        reject(this.#lost);
        return;
      }
      this.#waiter = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #lose(error: Error): void {
    this.#lost ??= error;
    this.#waiter?.reject(this.#lost);
    this.#waiter = undefined;
  }
}

/** A GET stream that nobody reads from. */
export interface IdleStream {
  readonly isOpen: boolean;
  close(): void;
}

export function openIdleStream(url: URL, request: Buffer): Promise<IdleStream> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname, port: Number(url.port) });
    const parser = new AnswerParser();
    const giveUp = setTimeout(() => socket.destroy(new Error('the stream did not open')), SILENCE_MS);
    let isOpen = true;
    socket.on('connect', () => socket.write(request));
    socket.on('data', (chunk: Buffer) => {
      if (parser.head !== undefined) return;
      parser.push(chunk);
      const head = parser.head as string | undefined;
      if (head === undefined) return;
      clearTimeout(giveUp);
      const isStream = headerOf(head, 'content-type')?.startsWith('text/event-stream') === true;
      if (head.slice(9, 12) !== '200' || !isStream)
        socket.destroy(new Error(`no stream, but ${head.split('\r\n')[0]}`));
      else
        resolve({
          get isOpen() {
            return isOpen;
          },
          close: () => void socket.destroy(),
        });
    });
    socket.on('error', reject);
    socket.on('close', () => {
      isOpen = false;
      clearTimeout(giveUp);
      reject(new Error('the stream was closed'));
    });
  });
}
