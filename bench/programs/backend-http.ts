/**
 * The backends over HTTP: `/modern` without sessions, `/legacy` with sessions and JSON answers, `/legacy-sse` with SSE
 * ones. `/cached/<n>` are as many modern ones as anybody wants, whose lists stay fresh; `/cached/<n>/<tools>` are such
 * with so many tools.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Answers, type Incoming, LONG_FRESH_MS } from './answers.ts';
import { gather, openStream, serve } from './server.ts';

const modern = new Answers('modern');
/** By how many tools they have; undefined stands for the usual number. */
const cached = new Map<number | undefined, Answers>();
const legacy = new Answers('legacy');
const sessions = new Set<string>();
let streams = 0;

const isCached = ({ url = '' }: IncomingMessage) => url.startsWith('/cached/');

function cachedAnswers({ url = '' }: IncomingMessage): Answers {
  const [, , , tools] = url.split('/');
  const count = tools === undefined ? undefined : Number(tools);
  const answers = cached.get(count) ?? new Answers('modern', LONG_FRESH_MS, count);
  cached.set(count, answers);
  return answers;
}

const json = { 'content-type': 'application/json' };

function send(response: ServerResponse, status: number, body: Buffer, headers: Record<string, string> = {}): void {
  response.writeHead(status, { ...json, 'content-length': body.length, ...headers });
  response.end(body);
}

function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  send(response, status, Buffer.from(JSON.stringify({ jsonrpc: '2.0', error: { code, message } })));
}

function accept(response: ServerResponse): void {
  response.writeHead(202, { 'content-length': 0 });
  response.end();
}

function onModern(answers: Answers, message: Incoming, response: ServerResponse): void {
  if (message.id === undefined) {
    accept(response);
    return;
  }
  const { bytes, failed } = answers.answer(message);
  send(response, failed ? 404 : 200, bytes);
}

function onLegacy(message: Incoming, request: IncomingMessage, response: ServerResponse): void {
  const session = sessionOf(request);
  if (message.method === 'initialize') {
    const id = randomUUID();
    sessions.add(id);
    send(response, 200, legacy.answer(message).bytes, { 'mcp-session-id': id });
  } else if (session === undefined) refuse(response, 400, -32600, 'Bad Request: Mcp-Session-Id header is required');
  else if (!sessions.has(session)) refuse(response, 404, -32001, 'Session not found');
  else if (message.id === undefined) accept(response);
  else if (request.url === '/legacy') send(response, 200, legacy.answer(message).bytes);
  else sendEvent(response, legacy.answer(message).bytes);
}

function sendEvent(response: ServerResponse, bytes: Buffer): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.end(Buffer.concat([Buffer.from('event: message\ndata: '), bytes, Buffer.from('\n\n')]));
}

function sessionOf(request: IncomingMessage): string | undefined {
  const session = request.headers['mcp-session-id'];
  return typeof session === 'string' ? session : undefined;
}

function onGet(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/stats') send(response, 200, Buffer.from(JSON.stringify({ sessions: sessions.size, streams })));
  else if (request.url === '/modern' || isCached(request)) {
    response.writeHead(405, { allow: 'POST', 'content-length': 0 });
    response.end();
  } else if (!sessions.has(sessionOf(request) ?? '')) refuse(response, 404, -32001, 'Session not found');
  else {
    streams += 1;
    response.on('close', () => {
      streams -= 1;
    });
    openStream(response);
  }
}

function onPost(request: IncomingMessage, response: ServerResponse): void {
  gather(request, (body) => {
    const message = JSON.parse(body.toString()) as Incoming;
    if (request.url === '/modern') onModern(modern, message, response);
    else if (isCached(request)) onModern(cachedAnswers(request), message, response);
    else onLegacy(message, request, response);
  });
}

function onDelete(request: IncomingMessage, response: ServerResponse): void {
  sessions.delete(sessionOf(request) ?? '');
  response.writeHead(204);
  response.end();
}

serve((request, response) => {
  if (request.method === 'GET') onGet(request, response);
  else if (request.method === 'DELETE') onDelete(request, response);
  else onPost(request, response);
});
