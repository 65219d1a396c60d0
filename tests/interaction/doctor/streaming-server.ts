/**
 * A legacy server over Streamable HTTP that answers with resumable streams and reports progress. It keeps the rules,
 * except for the one fault that a test plants.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Json } from '../harness/client.ts';
import { readOrNothing, serveBodies } from './serve-bodies.ts';

export type StreamFault =
  | 'progress falls'
  | 'other progress token'
  | 'progress unasked for'
  | 'client asked for the undeclared'
  | 'cancelled call answered'
  | 'cancellation breaks the session'
  | 'event ids repeated'
  | 'nothing replayed'
  | 'other stream replayed'
  | 'unknown event crashes';

interface SentEvent {
  readonly id: string;
  readonly stream: number;
  readonly message: Json | undefined;
}

const session = 'session-of-the-test';

class StreamingServer {
  readonly #fault: StreamFault | undefined;
  readonly #events: SentEvent[] = [];
  #streams = 0;
  /** Calls of `slow`, by id: they last until they are cancelled. */
  readonly #slow = new Map<unknown, ServerResponse>();
  /** Runs after the next `ping`, when the check knows that the cancellation was read. */
  #afterPing: (() => void) | undefined;
  #isBroken = false;

  constructor(fault: StreamFault | undefined) {
    this.#fault = fault;
  }

  handle(request: IncomingMessage, response: ServerResponse, text: string): void {
    const { method, headers } = request;
    if (headers.origin !== undefined) response.writeHead(403).end();
    else if (method === 'GET') this.#resume(headers['last-event-id'], response);
    else if (method !== 'POST') response.writeHead(405).end();
    else this.#post(readOrNothing(text), response);
  }

  #post(message: Json, response: ServerResponse): void {
    const { id, method, params } = message;
    const json = (body: object) => {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
    };
    if (params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined || this.#isBroken)
      response.writeHead(400).end();
    else if (id === undefined) this.#notified(message, response);
    else if (method === 'initialize')
      json({
        result: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'streams', version: '1' },
        },
      });
    else if (method === 'ping') this.#ping(id, response);
    else if (method === 'tools/call') this.#call(message, response);
    else if (method === 'tools/list') json({ result: { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } });
    else json({ error: { code: -32601, message: 'Method not found' } });
  }

  #notified({ method, params }: Json, response: ServerResponse): void {
    response.writeHead(202).end();
    if (method !== 'notifications/cancelled') return;
    if (this.#fault === 'cancellation breaks the session') this.#isBroken = true;
    const running = this.#slow.get(params.requestId);
    this.#slow.delete(params.requestId);
    if (running === undefined) return;
    const result = { jsonrpc: '2.0', id: params.requestId, result: { content: [] } };
    if (this.#fault === 'cancelled call answered')
      this.#afterPing = () => running.end(`data: ${JSON.stringify(result)}\n\n`);
    else running.end();
  }

  #ping(id: unknown, response: ServerResponse): void {
    const stream = this.#open(response);
    this.#send(response, stream, undefined);
    this.#send(response, stream, { jsonrpc: '2.0', id, result: {} });
    response.end(() => this.#afterPing?.());
  }

  #call({ id, params }: Json, response: ServerResponse): void {
    const stream = this.#open(response);
    const token = params._meta?.progressToken;
    const report = (progressToken: unknown, progress: number) =>
      this.#send(response, stream, {
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress },
      });
    if (params.name === 'slow') {
      response.flushHeaders();
      this.#slow.set(id, response);
      return;
    }
    if (this.#fault === 'client asked for the undeclared') {
      const ask = { message: 'Who are you?', requestedSchema: { type: 'object', properties: {} } };
      this.#send(response, stream, { jsonrpc: '2.0', id: 'ask-1', method: 'elicitation/create', params: ask });
    }
    const told = this.#fault === 'other progress token' ? 'another' : token;
    if (token !== undefined)
      for (const at of this.#fault === 'progress falls' ? [1, 3, 2] : [1, 2, 3]) report(told, at);
    else if (this.#fault === 'progress unasked for') report('none', 1);
    this.#send(response, stream, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'echo' }] } });
    response.end();
  }

  #open(response: ServerResponse): number {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return ++this.#streams;
  }

  #send(response: ServerResponse, stream: number, message: Json | undefined): void {
    const at = this.#events.filter((event) => event.stream === stream).length;
    const event = { id: this.#fault === 'event ids repeated' ? `e${at}` : `s${stream}e${at}`, stream, message };
    this.#events.push(event);
    this.#write(response, event);
  }

  #write(response: ServerResponse, { id, message }: SentEvent): void {
    response.write(`id: ${id}\ndata: ${message === undefined ? '' : JSON.stringify(message)}\n\n`);
  }

  #resume(last: string | string[] | undefined, response: ServerResponse): void {
    const known = this.#events.findIndex(({ id }) => id === last);
    const before = this.#events[known];
    if (before === undefined) {
      response.writeHead(this.#fault === 'unknown event crashes' ? 500 : 400).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const isOwn = ({ stream }: SentEvent) =>
      this.#fault === 'other stream replayed' ? stream !== before.stream : stream === before.stream;
    const later = this.#fault === 'nothing replayed' ? [] : this.#events.slice(known + 1).filter(isOwn);
    for (const event of later) this.#write(response, event);
    response.end();
  }
}

export async function startStreaming(fault?: StreamFault): Promise<string> {
  const streaming = new StreamingServer(fault);
  const origin = await serveBodies((request, response, text) => streaming.handle(request, response, text));
  return `${origin}/mcp`;
}
