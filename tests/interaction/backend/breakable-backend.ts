/** A scripted HTTP backend behind a relay that a test can close, stall and open again. Counts connections. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ScriptedBackend } from '../harness/http-backend.ts';

export class BreakableBackend {
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #own = 0;
  #stalled = false;
  /** Connections since it was last opened. */
  connections = 0;
  /** Bytes that came through it, or would have. */
  bytes = 0;

  constructor(backend: ScriptedBackend) {
    this.#port = Number(new URL(backend.url).port);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#own}/mcp`;
  }

  /** At the same address as before, if there was one. */
  async open(): Promise<void> {
    this.connections = 0;
    this.#stalled = false;
    if (this.#server !== undefined) return;
    const server = createServer((socket) => this.#enter(socket));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#own, '127.0.0.1', resolve));
    const address = server.address();
    if (typeof address === 'object' && address !== null) this.#own = address.port;
  }

  /** Accepts connections and sends nothing. */
  stall(): void {
    this.#stalled = true;
  }

  /** Refuses connections, and closes the open ones. */
  async shut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #enter(socket: Socket): void {
    this.connections += 1;
    const inside = connect(this.#port, '127.0.0.1');
    for (const one of [socket, inside]) {
      this.#sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => {
        this.#sockets.delete(one);
        socket.destroy();
        inside.destroy();
      });
    }
    inside.on('data', (chunk) => socket.write(chunk));
    socket.on('data', (chunk) => {
      this.bytes += chunk.length;
      if (!this.#stalled) inside.write(chunk);
    });
  }
}

/** Open; shut when the test is over. */
export async function breakable(backend: ScriptedBackend): Promise<BreakableBackend> {
  const link = new BreakableBackend(backend);
  await link.open();
  onTestFinished(() => link.shut());
  return link;
}
