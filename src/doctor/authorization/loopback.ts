/** The redirect of a native client: a listener on this machine that waits for one request (RFC 8252, 7.3). */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { page } from '../../web/frame.ts';
import { html } from '../../web/html.ts';

/** A person signs in, perhaps with a second factor. */
const SIGN_IN_MS = 5 * 60_000;

const PATH = '/callback';

const done = page({ title: 'Back to the terminal', body: html`<p>You can close this page.</p>` });

export class LoopbackRedirect {
  readonly uri: string;
  readonly #server: Server;
  /** Resolves with the parameters of the redirect, or with undefined when the time is over. */
  readonly arrived: Promise<URLSearchParams | undefined>;

  static async open(): Promise<LoopbackRedirect> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new LoopbackRedirect(server);
  }

  private constructor(server: Server) {
    this.#server = server;
    this.uri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`;
    this.arrived = new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), SIGN_IN_MS);
      server.on('close', () => {
        clearTimeout(timer);
        resolve(undefined);
      });
      server.on('request', (request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? '/', this.uri);
        if (request.method !== 'GET' || pathname !== PATH) {
          response.writeHead(404).end();
          return;
        }
        clearTimeout(timer);
        response.writeHead(200, { ...done.headers, connection: 'close' }).end(done.html);
        resolve(searchParams);
      });
    });
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeIdleConnections();
    await closed;
  }
}
