/** The GET streams and the ends of sessions at legacy HTTP backends. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, call, echo, notification, request, result, text } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy } from '../harness/eras.ts';
import type { ScriptedBackend, Turn } from '../harness/http-backend.ts';
import { messagesOf } from './setup.ts';

const updated = (uri: string) => notification('notifications/resources/updated', { uri });

function gets({ received }: ScriptedBackend) {
  return received.filter(({ http }) => http === 'GET');
}

function deletes({ received }: ScriptedBackend, session: string) {
  return received.filter(({ http, headers }) => http === 'DELETE' && headers['mcp-session-id'] === session);
}

describe('a GET stream that broke', verifies('client-transport:http:reconnect-get'), () => {
  it('is resumed after its last event, and the client misses nothing and gets nothing twice', async () => {
    const streams: Turn[] = [];
    const { url, backend } = await behindLegacy({ GET: (turn) => void streams.push(turn.stream()) });
    const client = await connectLegacy(url);
    const listening = await client.listen();
    await until(() => streams.length === 1, 'the stream was opened');
    streams[0]?.event('', { id: 'g0', retry: 50 }).event(updated('note://1'), { id: 'g1' }).bytes('id: g2\ndata: {"js');
    await listening.message(({ params }) => params.uri === 'note://1');
    streams[0]?.cut();
    await until(() => streams.length === 2, 'the stream was opened again');
    expect(streams[1]?.received.headers).toMatchObject({
      accept: 'text/event-stream',
      'last-event-id': 'g1',
      'mcp-session-id': 'upstream-2',
    });
    streams[1]?.event(updated('note://1'), { id: 'g1' }).event(updated('note://2'), { id: 'g2' });
    await listening.message(({ params }) => params.uri === 'note://2');
    const heard = messagesOf(listening);
    expect(heard).toEqual([updated('note://1'), updated('note://2')]);
    expect(gets(backend)).toHaveLength(2);
  });
});

describe('a backend without a GET stream', verifies('client-transport:http:sse-405-tolerated'), () => {
  it.each([
    { name: '405', answer: (turn: Turn) => turn.raw(405, { allow: 'POST, DELETE' }) },
    {
      name: 'a 404 of its framework',
      answer: (turn: Turn) => turn.raw(404, { 'content-type': 'text/html' }, 'Cannot GET'),
    },
    { name: '400', answer: (turn: Turn) => turn.json({ error: 'no' }, 400) },
  ])('answers $name: it is used all the same, and no GET is sent again', async ({ answer }) => {
    const clock = new LeapClock();
    const { url, backend } = await behindLegacy({ ...echo, GET: answer }, { ports: { clock } });
    const client = await connectLegacy(url);
    await until(() => gets(backend).length === 1, 'the backend was asked for its stream');
    for (const n of [1, 2, 3]) {
      expect((await client.post(call(n, { n }))).json()).toEqual(result(n, text(`{"n":${n}}`)));
      clock.leap(60_000);
    }
    expect(gets(backend)).toHaveLength(1);
  });
});

describe('the end of a session', () => {
  it.each([204, 405, 404, 500])(
    'that the backend answers with %i has no consequence',
    verifies('client-transport:http:terminate-405-ok'),
    async (status) => {
      const { url, backend, gateway } = await behindLegacy({ ...echo, DELETE: (turn) => turn.raw(status, {}) });
      const first = await connectLegacy(url);
      expect(await first.end()).toMatchObject({ status: 204, body: '' });
      await until(() => deletes(backend, 'upstream-2').length > 0, 'the upstream session was ended');
      const second = await connectLegacy(url);
      expect((await second.post(call(1, {}))).status).toBe(200);
      expect(deletes(backend, 'upstream-2')).toHaveLength(1);
      expect(gateway.log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
    },
  );

  it(
    'is the end of all contact: its stream is closed and not opened again',
    verifies('client-transport:http:no-reconnect-after-close'),
    async () => {
      const clock = new LeapClock();
      const { url, backend } = await behindLegacy(echo, { ports: { clock } });
      const client = await connectLegacy(url);
      const standing = await backend.standing();
      await client.end();
      await standing.closed;
      await until(() => deletes(backend, 'upstream-2').length === 1, 'the upstream session was ended');
      backend.forget();
      clock.leap(60_000);
      await (await connectLegacy(url)).post(call(1, {}));
      expect(backend.received.filter(({ headers }) => headers['mcp-session-id'] === 'upstream-2')).toEqual([]);
    },
  );

  it(
    'forgets a stream that waits to be opened again',
    verifies('client-transport:http:no-reconnect-after-close'),
    async () => {
      const clock = new LeapClock();
      const { url, backend } = await behindLegacy(echo, { ports: { clock } });
      const client = await connectLegacy(url);
      const standing = await backend.standing();
      standing.event('', { id: 'g1', retry: 20_000 }).end();
      await standing.closed;
      // A round trip behind the end of the stream.
      await client.post(call(1, {}));
      await client.end();
      await until(() => deletes(backend, 'upstream-2').length === 1, 'the upstream session was ended');
      clock.leap(60_000);
      await (await connectLegacy(url)).post(call(1, {}));
      const mine = gets(backend).filter(({ headers }) => headers['mcp-session-id'] === 'upstream-2');
      expect(mine).toHaveLength(1);
    },
  );

  it(
    'of the gateway disconnects from every backend',
    verifies('client-transport:http:no-reconnect-after-close'),
    async () => {
      const clock = new LeapClock();
      const { url, backend, gateway } = await behindLegacy(echo, { ports: { clock } });
      await connectLegacy(url);
      const standing = await backend.standing();
      await gateway.close();
      await standing.closed;
      expect(deletes(backend, 'upstream-2')).toHaveLength(1);
      backend.forget();
      clock.leap(3_600_000);
      // Whatever would have been sent at once has arrived before this.
      await send(backend.url, { body: request('mine', 'ping') });
      expect(backend.received.map(({ message }) => message?.id)).toEqual(['mine']);
    },
  );
});
