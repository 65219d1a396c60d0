/** The answer to a POST that takes its time: JSON or a stream, alone or in a batch, resumable or not. */
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { Connection, Outlet, OutletOptions, ResumableStream, Urgency } from '../../src/exchange/outlet.ts';
import { ask, both, errorIn, eventually, ping, pong, posting, RawClient, type Running, start } from './harness.ts';

const progress = Buffer.from('{"jsonrpc":"2.0","method":"notifications/progress"}');
const legacy: OutletOptions = { era: 'legacy', requests: 1, batch: false, longLived: false };
const modern: OutletOptions = { ...legacy, era: 'modern' };
const sseOnly = { Accept: 'text/event-stream' };
const jsonOnly = { Accept: 'application/json' };

/** What the test does with the outlets as soon as they are open. */
function opening(running: Running, options: OutletOptions, act: (outlets: readonly Outlet[]) => void): void {
  running.gateway.onReceive = ({ reply }) => act(reply.open(options));
}

function response(text: string): { kind: 'response'; bytes: Uint8Array } {
  return { kind: 'response', bytes: Buffer.from(text) };
}

class FakeStream implements ResumableStream {
  readonly log: string[] = [];
  connection: Connection | undefined;

  attach(connection: Connection): void {
    this.connection = connection;
    this.log.push('attach');
    connection.onClose(() => this.log.push('closed'));
    connection.send({ id: 's-0', data: new Uint8Array(0), urgency: 'keep' });
  }

  emit(message: Uint8Array, urgency: Urgency): void {
    this.log.push(`emit ${urgency}`);
    this.connection?.send({ id: `s-${this.log.length}`, data: message, urgency });
  }

  pause(retryMs: number | undefined): void {
    this.log.push('pause');
    this.connection?.pause(retryMs);
  }

  terminate(): void {
    this.log.push('terminate');
    this.connection?.end();
  }
}

describe('JSON or a stream', () => {
  it('is JSON if nothing precedes the response', async () => {
    const running = await start();
    opening(running, legacy, ([outlet]) => outlet?.settle({ kind: 'response', bytes: pong }));
    const answer = await ask(running, { body: ping, headers: { Accept: both } });
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.body).toBe(pong.toString());
  });

  it('is a stream if a message precedes the response', async () => {
    const running = await start();
    opening(running, legacy, ([outlet]) => {
      outlet?.send(progress, 'progress', 'k');
      outlet?.settle({ kind: 'response', bytes: pong });
      outlet?.send(progress, 'progress', 'k');
    });
    const answer = await ask(running, { body: ping, headers: { Accept: both } });
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/event-stream');
    expect(answer.headers['cache-control']).toBe('no-cache, no-transform');
    expect(answer.headers['x-accel-buffering']).toBe('no');
    expect(answer.body).toBe(`data: ${progress}\n\ndata: ${pong}\n\n`);
  });

  it('becomes a stream when the answer is not there in time: its headers go out alone', async () => {
    const running = await start();
    const outlets: Outlet[] = [];
    opening(running, legacy, (opened) => outlets.push(...opened));
    const client = new RawClient(running.port);
    client.send(posting(ping, { Accept: both }));
    await eventually(() => outlets.length === 1);
    running.clock.advance(999);
    expect(client.received).toBe('');
    running.clock.advance(200);
    await client.until('Content-Type: text/event-stream\r\n');
    await client.until('\r\n\r\n');
    outlets[0]?.settle({ kind: 'response', bytes: pong });
    await client.until(`data: ${pong}\n\n`);
    await client.until('0\r\n\r\n');
  });

  it('is a stream immediately if the wait is 0', async () => {
    const running = await start({ limits: { sseAfterMs: 0 } });
    opening(running, legacy, ([outlet]) => outlet?.settle({ kind: 'response', bytes: pong }));
    const answer = await ask(running, { body: ping, headers: { Accept: both } });
    expect(answer.body).toBe(`data: ${pong}\n\n`);
  });

  it('is JSON for a client that accepts nothing else, however long it takes', async () => {
    const running = await start();
    let outlet: Outlet | undefined;
    opening(running, legacy, ([opened]) => {
      outlet = opened;
      outlet?.send(progress, 'progress');
    });
    const pending = ask(running, { body: ping, headers: jsonOnly });
    await eventually(() => outlet !== undefined);
    running.clock.advance(60_000);
    outlet?.settle({ kind: 'response', bytes: pong });
    const answer = await pending;
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.body).toBe(pong.toString());
  });

  it('is always a stream for a client that accepts nothing else', async () => {
    const running = await start();
    opening(running, legacy, ([outlet]) => outlet?.settle({ kind: 'response', bytes: pong }));
    const answer = await ask(running, { body: ping, headers: sseOnly });
    expect(answer.headers['content-type']).toBe('text/event-stream');
    expect(answer.body).toBe(`data: ${pong}\n\n`);
  });

  it('splits a pretty-printed message into lines of data', async () => {
    const running = await start();
    opening(running, legacy, ([outlet]) => outlet?.settle(response('{\n"a":1}')));
    expect((await ask(running, { body: ping, headers: sseOnly })).body).toBe('data: {\ndata: "a":1}\n\n');
  });
});

describe('the end of a response', () => {
  it.each([
    { name: 'a response with a status', settlement: { kind: 'response', bytes: pong, status: 404 }, status: 404 },
    {
      name: 'a failure with a status',
      settlement: { kind: 'failure', failure: new Failure('missing_capability'), id: '7' },
      status: 400,
    },
    {
      name: 'a failure without one',
      settlement: { kind: 'failure', failure: new Failure('backend_unavailable'), id: '7' },
      status: 200,
    },
  ] as const)('has the status of $name before the headers are sent', async ({ settlement, status }) => {
    const running = await start();
    opening(running, modern, ([outlet]) => outlet?.settle(settlement));
    const answer = await ask(running, { body: ping, headers: { Accept: both } });
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(JSON.parse(answer.body).id).toBe(7);
  });

  it('has an error status even for a client that accepts streams alone', async () => {
    const running = await start();
    const failure = new Failure('method_removed');
    opening(running, modern, ([outlet]) => outlet?.settle({ kind: 'failure', failure, id: '7' }));
    const answer = await ask(running, { body: ping, headers: sseOnly });
    expect(answer.status).toBe(404);
    expect(errorIn(answer)).toEqual({ code: -32601, reason: 'method_removed', id: 7 });
  });

  it('reports a failure inside a started stream, in the form of the era', async () => {
    const running = await start();
    opening(running, modern, ([outlet]) => {
      outlet?.send(progress, 'progress');
      outlet?.settle({ kind: 'failure', failure: new Failure('missing_capability'), id: '"a"' });
    });
    const answer = await ask(running, { body: ping, headers: { Accept: both } });
    expect(answer.status).toBe(200);
    expect(answer.body).toBe(
      `data: ${progress}\n\ndata: {"jsonrpc":"2.0","id":"a","error":{"code":-32021,"message":"Missing required client capability","data":{"reason":"missing_capability"}}}\n\n`,
    );
  });

  it.each([
    { name: 'JSON', headers: jsonOnly, status: 204, type: undefined },
    { name: 'streams', headers: sseOnly, status: 200, type: 'text/event-stream' },
    { name: 'both', headers: { Accept: both }, status: 200, type: 'text/event-stream' },
  ])('sends no body to a client that accepts $name', async ({ headers, status, type }) => {
    const running = await start();
    opening(running, legacy, ([outlet]) => outlet?.settle({ kind: 'silence' }));
    const answer = await ask(running, { body: ping, headers });
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe(type);
    expect(answer.body).toBe('');
  });

  it('ends a stream without a response when it is silent', async () => {
    const running = await start();
    opening(running, legacy, ([outlet]) => {
      outlet?.send(progress, 'progress');
      outlet?.settle({ kind: 'silence' });
      outlet?.settle({ kind: 'response', bytes: pong });
    });
    expect((await ask(running, { body: ping, headers: { Accept: both } })).body).toBe(`data: ${progress}\n\n`);
  });
});

describe('long-lived requests', () => {
  const listening = { ...modern, longLived: true };

  it('send their headers at once', async () => {
    const running = await start();
    opening(running, listening, () => undefined);
    const client = new RawClient(running.port);
    client.send(posting(ping, { Accept: both }));
    await client.until(/text\/event-stream[\s\S]*\r\n\r\n/);
  });

  it('are rejected for clients that accept JSON alone, and their handler is cancelled', async () => {
    const running = await start();
    let abandoned = 0;
    opening(running, listening, ([outlet]) => outlet?.onAbandoned(() => (abandoned += 1)));
    const answer = await ask(running, { body: ping, headers: jsonOnly });
    expect(answer.status).toBe(406);
    expect(errorIn(answer)).toEqual({ code: -32600, reason: 'not_acceptable', id: 7 });
    expect(abandoned).toBe(1);
  });
});

describe('batches', () => {
  const three = { ...legacy, requests: 3, batch: true };
  const failure = new Failure('session_required');

  it('are one array, without the silent and in the order of settlement, and always 200', async () => {
    const running = await start();
    opening(running, three, ([one, two, last]) => {
      two?.settle({ kind: 'silence' });
      last?.settle({ kind: 'failure', failure, id: '3' });
      one?.settle(response('{"id":1}'));
    });
    const answer = await ask(running, { body: '[]', headers: { Accept: both } });
    expect(answer.status).toBe(200);
    const error =
      '{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"Mcp-Session-Id header is required","data":{"reason":"session_required"}}}';
    expect(answer.body).toBe(`[${error},{"id":1}]`);
  });

  it('are one array even with one answer', async () => {
    const running = await start();
    opening(running, { ...three, requests: 1 }, ([one]) => one?.settle(response('{"id":1}')));
    expect((await ask(running, { body: '[]', headers: jsonOnly })).body).toBe('[{"id":1}]');
  });

  it('are one stream that starts with the settled responses and ends with the last one', async () => {
    const running = await start();
    opening(running, three, ([one, two, last]) => {
      one?.settle(response('{"id":1}'));
      two?.send(progress, 'progress');
      last?.settle(response('{"id":3}'));
      two?.settle(response('{"id":2}'));
    });
    const answer = await ask(running, { body: '[]', headers: { Accept: both } });
    expect(answer.body).toBe(`data: {"id":1}\n\ndata: ${progress}\n\ndata: {"id":3}\n\ndata: {"id":2}\n\n`);
  });

  it('are a stream of answers for a client that reads streams alone', async () => {
    const running = await start();
    opening(running, { ...three, requests: 2 }, ([one, two]) => {
      one?.settle(response('{"id":1}'));
      two?.settle({ kind: 'failure', failure, id: '2' });
    });
    const answer = await ask(running, { body: '[]', headers: sseOnly });
    expect(answer.status).toBe(200);
    expect(answer.body.split('\n\n')).toHaveLength(3);
  });

  it('are empty if they contain no request', async () => {
    const running = await start();
    opening(running, three, (outlets) => {
      for (const outlet of outlets) outlet.settle({ kind: 'silence' });
    });
    expect((await ask(running, { body: '[]', headers: jsonOnly })).status).toBe(204);
  });
});

describe('a client that disconnects', () => {
  async function leave(options: OutletOptions, act: (outlet: Outlet) => void, wait: boolean): Promise<() => number> {
    const running = await start();
    let abandoned = 0;
    let opened: Outlet | undefined;
    opening(running, options, ([outlet]) => {
      opened = outlet;
      outlet?.onAbandoned(() => (abandoned += 1));
      if (outlet !== undefined) act(outlet);
    });
    const client = new RawClient(running.port);
    client.send(posting(ping, { Accept: both }));
    await eventually(() => opened !== undefined);
    if (wait) await client.until('\n\n');
    client.socket.destroy();
    // Everything that its end causes has been caused when a later client was served and the server has seen the end.
    await client.closed;
    opening(running, legacy, ([outlet]) => outlet?.settle({ kind: 'response', bytes: pong }));
    await ask(running, { body: ping });
    await ask(running, { body: ping });
    return () => abandoned;
  }

  it('cancels a modern request before any header went out', async () => {
    const abandoned = await leave(modern, () => undefined, false);
    await eventually(() => abandoned() === 1);
  });

  it('cancels a modern request by closing its stream', async () => {
    const abandoned = await leave(modern, (outlet) => outlet.send(progress, 'progress'), true);
    await eventually(() => abandoned() === 1);
  });

  it('cancels nothing that is settled', async () => {
    const settle = (outlet: Outlet) => outlet.settle({ kind: 'response', bytes: pong });
    expect((await leave(modern, settle, false))()).toBe(0);
  });

  it('cancels no legacy request, with a stream to come back to or without', async () => {
    expect((await leave(legacy, (outlet) => outlet.send(progress, 'progress'), true))()).toBe(0);
    const stream = new FakeStream();
    const resumable = { ...legacy, stream: () => stream };
    expect((await leave(resumable, (outlet) => outlet.send(progress, 'progress'), true))()).toBe(0);
    await eventually(() => stream.log.includes('closed'));
  });

  it('notifies also those that register afterwards', async () => {
    const running = await start();
    let outlet: Outlet | undefined;
    opening(running, modern, ([opened]) => {
      outlet = opened;
    });
    const client = new RawClient(running.port);
    client.send(posting(ping, { Accept: both }));
    await eventually(() => outlet !== undefined);
    let first = 0;
    outlet?.onAbandoned(() => (first += 1));
    client.socket.destroy();
    await eventually(() => first === 1);
    let late = 0;
    outlet?.onAbandoned(() => (late += 1));
    expect(late).toBe(1);
    outlet?.send(progress, 'keep');
    outlet?.settle({ kind: 'response', bytes: pong });
  });
});

describe('a resumable stream', () => {
  it('is begun only when the answer becomes a stream', async () => {
    const running = await start();
    let made = 0;
    const stream = () => {
      made += 1;
      return new FakeStream();
    };
    opening(running, { ...legacy, stream }, ([outlet]) => outlet?.settle({ kind: 'response', bytes: pong }));
    expect((await ask(running, { body: ping, headers: { Accept: both } })).body).toBe(pong.toString());
    opening(running, { ...legacy, stream }, ([outlet]) => outlet?.settle({ kind: 'silence' }));
    expect((await ask(running, { body: ping, headers: { Accept: both } })).body).toBe('');
    expect(made).toBe(0);
  });

  it('carries everything, its own events first', async () => {
    const running = await start();
    const stream = new FakeStream();
    opening(running, { ...legacy, stream: () => stream }, ([outlet]) => {
      outlet?.send(progress, 'progress');
      outlet?.settle({ kind: 'response', bytes: pong });
    });
    const answer = await ask(running, { body: ping, headers: { Accept: both } });
    expect(answer.body).toBe(`id: s-0\ndata: \n\nid: s-2\ndata: ${progress}\n\nid: s-3\ndata: ${pong}\n\n`);
    await eventually(() => stream.log.includes('closed'));
    expect(stream.log).toEqual(['attach', 'emit progress', 'emit keep', 'terminate', 'closed']);
  });

  it('continues without its connection', async () => {
    const running = await start();
    const stream = new FakeStream();
    let outlet: Outlet | undefined;
    opening(running, { ...legacy, stream: () => stream }, ([opened]) => {
      outlet = opened;
      outlet?.pause(1500);
    });
    const answer = await ask(running, { body: ping, headers: { Accept: both } });
    expect(answer.body).toBe('id: s-0\ndata: \n\nretry: 1500\n\n');
    outlet?.settle({ kind: 'response', bytes: pong });
    expect(stream.log).toEqual(['attach', 'pause', 'closed', 'emit keep', 'terminate']);
  });

  it('is needed to pause', async () => {
    const running = await start();
    opening(running, legacy, ([outlet]) => {
      outlet?.send(progress, 'progress');
      outlet?.pause(1500);
      outlet?.settle({ kind: 'response', bytes: pong });
    });
    const answer = await ask(running, { body: ping, headers: { Accept: both } });
    expect(answer.body).toBe(`data: ${progress}\n\ndata: ${pong}\n\n`);
  });
});
