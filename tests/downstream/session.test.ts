/** GET and DELETE of a legacy session. */
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { SessionRequest } from '../../src/exchange/arrival.ts';
import type { Connection } from '../../src/exchange/outlet.ts';
import { ask, endpoint, errorIn, eventually, head, keep, RawClient, start } from './harness.ts';

const stream = { Accept: 'text/event-stream' };

describe('GET', () => {
  it('opens a stream and sends its headers immediately', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(head('GET', '/mcp', stream));
    const text = await client.until('\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).toContain('Content-Type: text/event-stream\r\n');
    expect(text).toContain('Cache-Control: no-cache, no-transform\r\n');
    expect(text).toContain('X-Accel-Buffering: no\r\n');
  });

  it('hands over the caller and the session', async () => {
    const running = await start();
    let request: SessionRequest | undefined;
    running.gateway.onListen = async (asked) => {
      request = asked;
      return new Failure('unknown_event');
    };
    const headers = { ...stream, 'Mcp-Session-Id': 's', 'Last-Event-ID': 'e-1', Authorization: 'Bearer t' };
    const answer = await ask(running, { method: 'GET', headers });
    expect(answer.status).toBe(400);
    expect(errorIn(answer)).toEqual({ code: -32600, reason: 'unknown_event', id: undefined });
    expect(request?.endpoint).toBe(endpoint);
    expect(request?.sender.credentials).toMatchObject({ rawHeaders: expect.arrayContaining(['Bearer t']) });
    expect(request?.header('last-event-id')).toBe('e-1');
    expect(request?.header('mcp-session-id')).toBe('s');
  });

  it.each([
    { name: 'an unknown session', reason: 'session_not_found', status: 404, code: -32001 },
    { name: 'no session', reason: 'session_required', status: 400, code: -32600 },
    { name: 'an internal error', reason: 'internal_error', status: 500, code: -32603 },
  ] as const)('answers $name with $status', async ({ reason, status, code }) => {
    const running = await start();
    running.gateway.onListen = async () => new Failure(reason);
    const answer = await ask(running, { method: 'GET', headers: stream });
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(errorIn(answer)).toEqual({ code, reason, id: undefined });
  });

  it('survives a gateway that rejects', async () => {
    const running = await start();
    running.gateway.onListen = () => Promise.reject(new Error('secret'));
    const answer = await ask(running, { method: 'GET', headers: stream });
    expect(answer.status).toBe(500);
    expect(answer.body).not.toContain('secret');
    expect(running.notes.faults).toHaveLength(1);
  });

  it.each([
    { name: 'JSON alone', accept: 'application/json', status: 406 },
    { name: 'pages', accept: 'text/html', status: 406 },
  ])('answers a client that reads $name with $status', async ({ accept, status }) => {
    const running = await start();
    const answer = await ask(running, { method: 'GET', headers: { Accept: accept } });
    expect(answer.status).toBe(status);
    expect(errorIn(answer).reason).toBe('not_acceptable');
  });

  it('sends events with their ids, one that primes without data, and the time to come back', async () => {
    const running = await start();
    running.gateway.onListen = async (_, open) => {
      const connection = open();
      connection.send({ id: 'a-1', data: new Uint8Array(0), urgency: 'keep' });
      connection.send(keep('{"n":1}', 'a-2'));
      connection.pause(2500);
      return undefined;
    };
    const answer = await ask(running, { method: 'GET', headers: stream });
    expect(answer.body).toBe('id: a-1\ndata: \n\nid: a-2\ndata: {"n":1}\n\nretry: 2500\n\n');
  });

  it('streams over HTTP/1.0 until the connection ends', async () => {
    const running = await start();
    running.gateway.onListen = async (_, open) => {
      const connection = open();
      connection.send(keep('{"n":1}'));
      connection.end();
      return undefined;
    };
    const client = new RawClient(running.port);
    client.send(head('GET', '/mcp', stream).replace('HTTP/1.1', 'HTTP/1.0'));
    await client.closed;
    expect(client.received).toMatch(/Connection: close\r\n\r\ndata: {"n":1}\n\n$/);
  });

  it('ends the stream where the gateway fails after it was opened', async () => {
    const running = await start();
    running.gateway.onListen = async (_, open) => {
      open().send(keep('1'));
      return new Failure('internal_error');
    };
    expect((await ask(running, { method: 'GET', headers: stream })).body).toBe('data: 1\n\n');
  });

  it('hands a closed connection to a gateway that opens too late', async () => {
    const running = await start();
    let go: () => void = () => undefined;
    let closed = false;
    running.gateway.onListen = async (_, open) => {
      await new Promise<void>((resolve) => {
        go = resolve;
      });
      const connection: Connection = open();
      connection.onClose(() => {
        closed = true;
      });
      connection.send(keep('1'));
      return undefined;
    };
    const client = new RawClient(running.port);
    client.send(head('GET', '/mcp', stream));
    client.socket.end();
    await client.closed;
    go();
    await eventually(() => closed);
  });
});

describe('DELETE', () => {
  it('ends the session', async () => {
    const running = await start();
    let request: SessionRequest | undefined;
    running.gateway.onEnd = (asked) => {
      request = asked;
      return undefined;
    };
    const answer = await ask(running, { method: 'DELETE', headers: { 'Mcp-Session-Id': 's' } });
    expect(answer.status).toBe(204);
    expect(answer.body).toBe('');
    expect(request?.header('mcp-session-id')).toBe('s');
  });

  it('answers an unknown session like every other request does', async () => {
    const running = await start();
    running.gateway.onEnd = () => new Failure('session_not_found');
    const answer = await ask(running, { method: 'DELETE' });
    expect(answer.status).toBe(404);
    expect(answer.body).toBe(
      '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found","data":{"reason":"session_not_found"}}}',
    );
  });

  it('survives a gateway that rejects', async () => {
    const running = await start();
    running.gateway.onEnd = () => {
      throw new Error('secret');
    };
    expect((await ask(running, { method: 'DELETE' })).status).toBe(500);
  });
});
