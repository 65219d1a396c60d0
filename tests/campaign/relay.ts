/**
 * Stands in front of a backend, a replica's door or Redis: passes bytes on, until it is told to break something, for
 * all who connect or for one of them.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export type Mood = 'pass' | 'reset' | 'half-open' | 'refuse';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

export class Relay {
  readonly port: number;
  readonly #server: Server;
  readonly #target: number;
  readonly #pairs = new Set<Pair>();
  mood: Mood = 'pass';
  /** By the address that a connection comes from, where it is not that of all. */
  readonly moods = new Map<string, Mood>();
  /** In the mood `reset`: after so many bytes of an answer. */
  resetAfter = 0;

  private constructor(server: Server, port: number, target: number) {
    this.#server = server;
    this.port = port;
    this.#target = target;
    server.on('connection', (client: Socket) => this.#join(client));
  }

  static async start(target: number): Promise<Relay> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Relay(server, (server.address() as AddressInfo).port, target);
  }

  /** Ends what is open, from everywhere or from one address: in the middle of whatever it was doing. */
  cutAll(from?: string): void {
    for (const { client, server } of this.#pairs) {
      if (from !== undefined && client.remoteAddress !== from) continue;
      client.resetAndDestroy();
      server.destroy();
    }
  }

  close(): void {
    this.cutAll();
    this.#server.close();
  }

  #join(client: Socket): void {
    const { remoteAddress: from = '' } = client;
    const mood = () => this.moods.get(from) ?? this.mood;
    client.on('error', () => undefined);
    if (mood() === 'refuse') {
      client.resetAndDestroy();
      return;
    }
    const server = connect(this.#target, '127.0.0.1');
    const pair = { client, server };
    this.#pairs.add(pair);
    let answered = 0;
    const end = () => {
      this.#pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
    client.on('data', (chunk) => {
      if (mood() !== 'half-open') server.write(chunk);
    });
    server.on('data', (chunk) => {
      if (mood() === 'half-open') return;
      answered += chunk.length;
      if (mood() === 'reset' && answered >= this.resetAfter) {
        client.write(chunk.subarray(0, Math.max(0, chunk.length - (answered - this.resetAfter))), () =>
          client.resetAndDestroy(),
        );
        return;
      }
      client.write(chunk);
    });
  }
}
