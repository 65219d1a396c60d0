/**
 * The honest floor for a gateway in front of an HTTP backend: node:http in, undici's Pool.dispatch out, bodies gathered
 * both ways (a gateway must see a whole message before it can decide), nothing parsed. The first argument is the
 * origin.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';
import { gather, serve } from './server.ts';

const origin = process.argv[2] as string;
const calls = new Pool(origin);
/** Apart, so that a thousand open streams are not searched for a free connection at each call. */
const streams = new Pool(origin, { headersTimeout: 0, bodyTimeout: 0 });

/** RFC 9110, section 7.6.1, and what the bodies' new framing says. */
const perHop = new Set(['connection', 'keep-alive', 'host', 'content-length', 'transfer-encoding']);

function forwarded(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const kept: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !perHop.has(name)) kept[name] = value;
  }
  return kept;
}

/** Cut off at once: the bench takes a broken answer as a failure, as it should. */
function cut(response: ServerResponse): void {
  response.destroy();
}

class Gathered implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #chunks: Buffer[] = [];
  #status = 0;
  #headers: Record<string, string | string[] | number> = {};

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(): void {
    // Its presence tells undici which of its two interfaces this is.
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = forwarded(headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    if (this.#status !== 204) this.#headers['content-length'] = body.length;
    this.#response.writeHead(this.#status, this.#headers);
    this.#response.end(body);
  }

  onResponseError(): void {
    cut(this.#response);
  }
}

function relayStream(request: IncomingMessage, response: ServerResponse): void {
  let closed = false;
  let abort: (() => void) | undefined;
  response.on('close', () => {
    closed = true;
    abort?.();
  });
  streams.dispatch(
    { method: 'GET', path: request.url as string, headers: forwarded(request.headers) },
    {
      onRequestStart: (controller) => {
        abort = () => controller.abort(new Error('the client is gone'));
        if (closed) abort();
      },
      onResponseStart: (_controller, status, headers) => {
        response.writeHead(status, forwarded(headers));
        response.flushHeaders();
      },
      onResponseData: (_controller, chunk) => void response.write(chunk),
      onResponseEnd: () => void response.end(),
      onResponseError: () => cut(response),
    },
  );
}

serve((request, response) => {
  if (request.method === 'GET') return relayStream(request, response);
  gather(request, (body) => {
    const method = request.method as Dispatcher.HttpMethod;
    calls.dispatch(
      { method, path: request.url as string, headers: forwarded(request.headers), body },
      new Gathered(response),
    );
  });
});
