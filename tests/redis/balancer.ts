/**
 * A balancer in front of replicas: each request goes to the next one, whatever it belongs to. A replica that is not
 * ready is left out, and a connection that is refused goes to another.
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const LOOK_MS = 100;
/** A replica that does not answer a health check for so long is not ready. */
const HEALTH_MS = 1_000;

/** In every response: the name of the replica that got the request. */
export const SERVED_BY = 'x-served-by';

export interface Target {
  readonly origin: string;
  readonly name?: string;
}

export interface Balanced<T> {
  readonly session: string | undefined;
  readonly replica: T;
}

export class Balancer<T extends Target> {
  readonly log: Balanced<T>[] = [];
  readonly origin: string;
  readonly #server: Server;
  readonly #replicas: readonly T[];
  readonly #unready = new Set<T>();
  /** Of each session. */
  readonly #openers = new Map<string, T>();
  readonly #looking: NodeJS.Timeout;
  #turn = 0;

  private constructor(server: Server, replicas: readonly T[]) {
    this.#server = server;
    this.#replicas = replicas;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#looking = setInterval(() => void this.#look(), LOOK_MS);
  }

  /** `replicas` may change. */
  static async start<T extends Target>(replicas: readonly T[]): Promise<Balancer<T>> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const balancer = new Balancer(server, replicas);
    server.on('request', (req, res) => void balancer.#pass(req, res));
    return balancer;
  }

  /**
   * The part of the requests of all sessions, or of one, that reached a process which does not own the session. The
   * owner is the process that opened it; when that is gone, the one that got most of the requests counts as the owner.
   */
  shareElsewhere(only?: string): number {
    const sessions = new Map<string, Map<T, number>>();
    for (const { session, replica } of this.log) {
      if (session === undefined || (only !== undefined && session !== only)) continue;
      const counts = sessions.get(session) ?? new Map<T, number>();
      sessions.set(session, counts.set(replica, (counts.get(replica) ?? 0) + 1));
    }
    const totals = { all: 0, elsewhere: 0 };
    for (const [session, counts] of sessions) {
      const opener = this.#openers.get(session);
      const isThere = opener !== undefined && this.#replicas.includes(opener);
      const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
      totals.all += all;
      totals.elsewhere += all - (isThere ? (counts.get(opener) ?? 0) : Math.max(...counts.values()));
    }
    return totals.all === 0 ? 0 : totals.elsewhere / totals.all;
  }

  close(): void {
    clearInterval(this.#looking);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** As a balancer with health checks does. */
  async #look(): Promise<void> {
    const look = async (replica: T) => {
      const signal = AbortSignal.timeout(HEALTH_MS);
      const { status } = await fetch(`${replica.origin}/readyz`, { signal }).catch(() => ({ status: 0 }));
      if (status === 200) this.#unready.delete(replica);
      else this.#unready.add(replica);
    };
    await Promise.all(this.#replicas.map(look));
  }

  async #pass(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of req) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks);
    for (let tries = 0; tries < 2 * this.#replicas.length; tries++) {
      const replica = this.#replicas[this.#turn++ % this.#replicas.length] as T;
      // When none is ready, any is better than none.
      if (tries < this.#replicas.length && this.#unready.has(replica)) continue;
      if (!(await this.#send(replica, req, body, res))) continue;
      const session = req.headers['mcp-session-id'];
      this.log.push({ replica, session: typeof session === 'string' ? session : undefined });
      return;
    }
    res.writeHead(502).end();
  }

  /** False where no connection was made. */
  #send(replica: T, req: IncomingMessage, body: Buffer, res: ServerResponse): Promise<boolean> {
    const { hostname, port } = new URL(replica.origin);
    return new Promise((resolve) => {
      const headers = { ...req.headers, connection: 'close' };
      const onward = request({ hostname, port, method: req.method, path: req.url, headers });
      onward.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED' && !res.headersSent) resolve(false);
        else {
          resolve(true);
          cutOff(replica, res, error);
        }
      });
      onward.on('response', (answer) => {
        resolve(true);
        const opened = answer.headers['mcp-session-id'];
        if (typeof opened === 'string' && !this.#openers.has(opened)) this.#openers.set(opened, replica);
        res.writeHead(answer.statusCode ?? 502, [...answer.rawHeaders, SERVED_BY, replica.name ?? '']);
        res.flushHeaders();
        answer.pipe(res);
        answer.on('error', () => undefined);
        answer.on('close', () => {
          if (!answer.complete) cutOff(replica, res, new Error('the response was cut off'));
        });
      });
      res.on('close', () => onward.destroy());
      onward.end(body);
    });
  }
}

/** The replica did not answer, or not to its end. */
function cutOff({ name = '' }: Target, res: ServerResponse, error: Error): void {
  if (res.headersSent) res.destroy();
  else res.writeHead(502, { [SERVED_BY]: name }).end(String(error));
}
