/** A server over HTTP+SSE that keeps the rules, except for the one fault that a test plants. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Json } from '../harness/client.ts';
import { readOrNothing, serveBodies } from './serve-bodies.ts';

export type OlderFault =
  | 'endpoint missing'
  | 'endpoint elsewhere'
  | 'endpoint late'
  | 'POST answered with 200'
  | 'answers unnamed'
  | 'one address for all'
  | 'unknown session served'
  | 'origin ignored';

const initialized = {
  protocolVersion: '2024-11-05',
  capabilities: {},
  serverInfo: { name: 'older', version: '1' },
};

class OlderSpeaker {
  readonly #fault: OlderFault | undefined;
  readonly #streams = new Map<string, ServerResponse>();
  #opened = 0;

  constructor(fault: OlderFault | undefined) {
    this.#fault = fault;
  }

  handle(request: IncomingMessage, response: ServerResponse, text: string): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://older.test');
    if (request.headers.origin !== undefined && this.#fault !== 'origin ignored') response.writeHead(403).end();
    else if (pathname === '/sse' && request.method === 'GET') this.#open(response);
    else if (pathname === '/messages' && request.method === 'POST')
      this.#post(searchParams.get('session') ?? '', readOrNothing(text), response);
    else response.writeHead(pathname === '/sse' ? 405 : 404).end();
  }

  #open(response: ServerResponse): void {
    const session = this.#fault === 'one address for all' ? 'all' : `s${++this.#opened}`;
    this.#streams.set(session, response);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    if (this.#fault === 'endpoint missing') return;
    if (this.#fault === 'endpoint late') response.write('event: message\ndata: {"jsonrpc":"2.0","method":"hello"}\n\n');
    const host = this.#fault === 'endpoint elsewhere' ? 'http://elsewhere.example' : '';
    response.write(`event: endpoint\ndata: ${host}/messages?session=${session}\n\n`);
  }

  #post(session: string, { id, method }: Json, response: ServerResponse): void {
    const stream = this.#streams.get(session);
    if (stream === undefined) {
      response.writeHead(this.#fault === 'unknown session served' ? 202 : 404).end();
      return;
    }
    response.writeHead(this.#fault === 'POST answered with 200' ? 200 : 202).end();
    if (id === undefined) return;
    const results: Readonly<Record<string, object>> = { initialize: initialized, ping: {} };
    const result = results[method];
    const error = { code: -32601, message: 'Method not found' };
    const answer =
      id === null ? { error: { code: -32600, message: 'Invalid request' } } : result ? { result } : { error };
    const event = this.#fault === 'answers unnamed' && method === 'ping' ? 'answer' : 'message';
    const told = id === null ? {} : { id };
    stream.write(`event: ${event}\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...told, ...answer })}\n\n`);
  }
}

export async function startOlder(fault?: OlderFault): Promise<string> {
  const speaker = new OlderSpeaker(fault);
  const origin = await serveBodies((request, response, text) => speaker.handle(request, response, text));
  return `${origin}/sse`;
}
