/** How operators see the server, and how it ends. */
import { describe, expect, it } from 'vitest';
import type { Outlet } from '../../src/exchange/outlet.ts';
import {
  ask,
  both,
  errorIn,
  eventually,
  head,
  note,
  ping,
  pong,
  posting,
  RawClient,
  type Running,
  start,
} from './harness.ts';

async function withWork(): Promise<{ running: Running; busy: RawClient; outlet: Outlet }> {
  const running = await start();
  let opened: Outlet | undefined;
  running.gateway.onReceive = ({ message, reply }) => {
    if (message.kind !== 'request') reply.accepted();
    else [opened] = reply.open({ era: 'legacy', requests: 1, batch: false, longLived: false });
  };
  const busy = new RawClient(running.port);
  busy.send(posting(ping, { Accept: both }));
  await eventually(() => opened !== undefined);
  return { running, busy, outlet: opened as unknown as Outlet };
}

describe('state', () => {
  it('lives', async () => {
    const running = await start();
    const answer = await ask(running, { path: '/healthz', method: 'GET' });
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body).toBe('{"status":"ok"}');
    const bare = await ask(running, { path: '/healthz', method: 'HEAD' });
    expect(bare.status).toBe(200);
    expect(bare.body).toBe('');
  });

  it('is ready, or names the backend that is not', async () => {
    let ready = true;
    const running = await start({
      ready: () => ({
        ready,
        backends: ready ? { one: { state: 'ready' } } : { one: { state: 'down', reason: 'backend_unavailable' } },
      }),
    });
    const good = await ask(running, { path: '/readyz', method: 'GET' });
    expect(good.status).toBe(200);
    expect(JSON.parse(good.body)).toEqual({ status: 'ready', backends: { one: { state: 'ready' } } });
    ready = false;
    const bad = await ask(running, { path: '/readyz', method: 'GET' });
    expect(bad.status).toBe(503);
    expect(JSON.parse(bad.body).backends.one).toEqual({ state: 'down', reason: 'backend_unavailable' });
  });

  it('is reported even if the check itself fails', async () => {
    const running = await start({
      ready: () => {
        throw new Error('secret');
      },
    });
    const answer = await ask(running, { path: '/readyz', method: 'GET' });
    expect(answer.status).toBe(500);
    expect(answer.body).not.toContain('secret');
  });
});

describe('closing', () => {
  it('lets running requests finish, and rejects new requests with 503', async () => {
    const { running, busy, outlet } = await withWork();
    // The gateway drains before the server closes, and as long as it does.
    running.gateway.draining = true;
    const closed = running.server.close({ drainMs: 60_000 });
    const refused = await ask(running, { body: ping });
    expect(refused.status).toBe(503);
    expect(refused.headers.connection).toBe('close');
    expect(errorIn(refused)).toEqual({ code: -32603, reason: 'shutting_down', id: 7 });
    expect((await ask(running, { body: '[]' })).status).toBe(503);
    expect((await ask(running, { method: 'GET' })).status).toBe(503);
    expect((await ask(running, { method: 'GET', path: '/sse' })).status).toBe(503);
    expect((await ask(running, { method: 'GET', path: '/readyz' })).status).toBe(503);
    expect((await ask(running, { method: 'GET', path: '/healthz' })).status).toBe(200);
    outlet.settle({ kind: 'response', bytes: pong });
    await busy.until(pong.toString());
    await closed;
    await busy.closed;
    await expect(ask(running, { body: ping })).rejects.toThrow('ECONNREFUSED');
  });

  it('still accepts messages that help requests to finish', async () => {
    const { running, outlet } = await withWork();
    const closed = running.server.close({ drainMs: 60_000 });
    expect((await ask(running, { body: note })).status).toBe(202);
    expect((await ask(running, { body: pong })).status).toBe(202);
    expect((await ask(running, { method: 'DELETE' })).status).toBe(204);
    outlet.settle({ kind: 'silence' });
    await closed;
  });

  it('refuses new requests as soon as the gateway drains', async () => {
    const running = await start();
    running.gateway.draining = true;
    expect((await ask(running, { body: ping })).status).toBe(503);
  });

  it('cuts requests that do not finish in time', async () => {
    const { running, busy } = await withWork();
    await running.server.close({ drainMs: 0 });
    await busy.closed;
    expect(busy.received).toBe('');
  });

  it('does not wait for idle connections', async () => {
    const running = await start();
    const idle = new RawClient(running.port);
    idle.send(posting(ping));
    await idle.until('"result"');
    await running.server.close({ drainMs: 60_000 });
    await idle.closed;
  });

  it('does not wait for a connection that is idle or was told to close', async () => {
    const running = await start();
    const silent = new RawClient(running.port);
    const dismissed = new RawClient(running.port);
    dismissed.send('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await dismissed.until('405');
    await running.server.close({ drainMs: 60_000 });
    await silent.closed;
  });

  it('ends streams that have no end of their own', async () => {
    const running = await start();
    const client = new RawClient(running.port);
    client.send(head('GET', '/mcp'));
    await client.until('\r\n\r\n');
    await running.server.close({ drainMs: 0 });
    await client.closed;
  });

  it('leaves no timer behind', async () => {
    const { running } = await withWork();
    await running.server.close({ drainMs: 0 });
    expect(running.clock.pending).toBe(0);
  });
});

describe('starting', () => {
  it('logs the listen address', async () => {
    const running = await start();
    expect(running.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const six = await start({ listen: { host: '[::1]' } });
    expect(six.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await ask(six, { path: '/healthz', method: 'GET' })).status).toBe(200);
  });

  it('fails if the port is in use', async () => {
    const running = await start();
    await expect(start({ listen: { port: running.port } })).rejects.toThrow('EADDRINUSE');
  });
});
