/** HTTP+SSE, 2024-11-05. */
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { PersistentConnection } from '../../src/exchange/arrival.ts';
import {
  ask,
  endpoint,
  errorIn,
  eventually,
  head,
  keep,
  note,
  ping,
  RawClient,
  type Running,
  start,
} from './harness.ts';

const other = { ...endpoint, path: '/servers/x/mcp' };

async function open(running: Running, path = '/sse'): Promise<{ client: RawClient; messages: string }> {
  const client = new RawClient(running.port);
  client.send(head('GET', path, { Accept: 'text/event-stream' }));
  const text = await client.until(/data: \S+\n\n/);
  return { client, messages: /event: endpoint\ndata: (\S+)\n\n/.exec(text)?.[1] ?? '' };
}

describe('the stream', () => {
  it('names the address for messages first, with an id that cannot be guessed', async () => {
    const running = await start();
    const { client, messages } = await open(running);
    expect(client.received).toContain('Content-Type: text/event-stream\r\n');
    expect(messages).toMatch(/^\/messages\?sessionId=[\w-]{32}$/);
    const second = await open(running);
    expect(second.messages).not.toBe(messages);
    expect(running.gateway.connected.map(({ via }) => via)).toEqual(['sse', 'sse']);
  });

  it('announces its message address', async () => {
    const running = await start({ endpoints: [endpoint, other] });
    const { messages } = await open(running, '/servers/x/sse');
    expect(messages).toMatch(/^\/servers\/x\/messages\?sessionId=/);
    expect(running.gateway.connected[0]?.endpoint).toBe(other);
  });

  it('calls every message a message, after the address even if it was sent before', async () => {
    const running = await start();
    running.gateway.onConnect = async ({ connection }) => {
      connection.send(keep('{"early":1}'));
      return running.gateway.line;
    };
    const { client } = await open(running);
    running.gateway.connected[0]?.connection.send(keep('{"late":1}'));
    const text = await client.until('late');
    expect(text.replace(/\r\n[0-9a-f]+\r\n/g, '')).toMatch(
      /event: endpoint\ndata: \S+\n\n\s*event: message\ndata: {"early":1}\n\n\s*event: message\ndata: {"late":1}\n\n/,
    );
  });

  it('is refused with the failure of the gateway, or where the client reads no streams', async () => {
    const running = await start();
    expect((await ask(running, { path: '/sse', method: 'GET', headers: { Accept: 'text/html' } })).status).toBe(406);
    running.gateway.onConnect = async () => new Failure('too_many_sessions');
    const answer = await ask(running, { path: '/sse', method: 'GET' });
    expect(answer.status).toBe(429);
    expect(errorIn(answer).reason).toBe('too_many_sessions');
    running.gateway.onConnect = () => Promise.reject(new Error('secret'));
    expect((await ask(running, { path: '/sse', method: 'GET' })).status).toBe(500);
  });

  it('is the session: its end closes the connection', async () => {
    const running = await start();
    const { client, messages } = await open(running);
    client.socket.destroy();
    await eventually(() => running.gateway.line.closes === 1);
    const answer = await ask(running, { path: messages, body: ping });
    expect(answer.status).toBe(404);
  });

  it('closes the connection when the gateway ends the stream', async () => {
    const running = await start();
    const { client } = await open(running);
    running.gateway.connected[0]?.connection.end();
    await client.until('0\r\n\r\n');
    await eventually(() => running.gateway.line.closes === 1);
  });

  it('closes a connection that was opened after the client disconnected', async () => {
    const running = await start();
    let go: (line: PersistentConnection) => void = () => undefined;
    running.gateway.onConnect = () =>
      new Promise((resolve) => {
        go = resolve;
      });
    const client = new RawClient(running.port);
    client.send(head('GET', '/sse'));
    await eventually(() => running.gateway.connected.length === 1);
    let closed = false;
    running.gateway.connected[0]?.connection.onClose(() => {
      closed = true;
    });
    client.socket.destroy();
    await eventually(() => closed);
    go(running.gateway.line);
    await eventually(() => running.gateway.line.closes === 1);
  });
});

describe('messages', () => {
  it('are answered with 202 and handed to their session', async () => {
    const running = await start();
    const { messages } = await open(running);
    const answer = await ask(running, { path: messages, body: ping });
    expect(answer.status).toBe(202);
    expect(answer.body).toBe('');
    expect(running.gateway.line.received.map(({ kind }) => kind)).toEqual(['request']);
    expect(running.gateway.arrivals).toEqual([]);
  });

  it('reach exactly their own session', async () => {
    const running = await start();
    const lines: { received: unknown[]; line: PersistentConnection }[] = [];
    running.gateway.onConnect = async () => {
      const received: unknown[] = [];
      const line = {
        refusal: () => undefined,
        receive: (message: unknown) => void received.push(message),
        close: () => undefined,
      };
      lines.push({ received, line });
      return line;
    };
    await open(running);
    const second = await open(running);
    await ask(running, { path: second.messages, body: ping });
    expect(lines.map(({ received }) => received.length)).toEqual([0, 1]);
  });

  it.each([
    { name: 'no session', query: '', body: ping, status: 400, code: -32600, reason: 'session_required', id: 7 },
    {
      name: 'an unknown one',
      query: '?sessionId=x',
      body: ping,
      status: 404,
      code: -32001,
      reason: 'session_not_found',
      id: 7,
    },
    {
      name: 'one for a notification',
      query: '?sessionId=x',
      body: note,
      status: 404,
      code: -32001,
      reason: 'session_not_found',
      id: undefined,
    },
    {
      name: 'no JSON',
      query: '?sessionId=x',
      body: '{',
      status: 400,
      code: -32700,
      reason: 'parse_error',
      id: undefined,
    },
  ])('are refused for $name', async ({ query, body, status, code, reason, id }) => {
    const running = await start();
    const answer = await ask(running, { path: `/messages${query}`, body });
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(errorIn(answer)).toEqual({ code, reason, id });
  });

  it('are refused as arrays, as another type, and beyond the limit', async () => {
    const running = await start();
    const { messages } = await open(running);
    const batch = await ask(running, { path: messages, body: `[${ping}]` });
    expect(batch.status).toBe(400);
    expect(errorIn(batch).reason).toBe('unsupported_mcp_batch');
    const text = await ask(running, { path: messages, body: ping, headers: { 'Content-Type': 'text/plain' } });
    expect(text.status).toBe(415);
    expect((await ask(running, { path: messages, body: 'x'.repeat(5000) })).status).toBe(413);
    expect(running.gateway.line.received).toEqual([]);
  });

  it('are refused at the address of another endpoint', async () => {
    const running = await start({ endpoints: [endpoint, other] });
    const { messages } = await open(running);
    expect((await ask(running, { path: `/servers/x${messages}`, body: ping })).status).toBe(404);
  });

  it('survive a connection handler that throws', async () => {
    const running = await start();
    const { messages } = await open(running);
    running.gateway.line.onReceive = () => {
      throw new Error('secret');
    };
    expect((await ask(running, { path: messages, body: ping })).status).toBe(202);
    expect(running.notes.faults).toHaveLength(1);
  });
});
