/** Log levels across the eras: of a session in the legacy one, of a request in the modern one. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  Held,
  hasRead,
  notification,
  request,
  result,
  text,
} from '../harness/behind.ts';
import { type Answer, open, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Script, Turn } from '../harness/http-backend.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';

const key = 'io.modelcontextprotocol/logLevel';
const message = (level: string, data = level) => notification('notifications/message', { level, data });
const levelled = (id: string | number, level?: string, capabilities: object = {}) =>
  modern({ id, method: 'tools/call', params: { name: 't' }, capabilities, ...(level && { meta: { [key]: level } }) });
const heard = ({ events }: Pick<Answer, 'events'>) =>
  events.flatMap((event) => (event.data ? [event.json()] : [])).flatMap(({ params }) => params?.data ?? []);

const quiet: Script = {
  'logging/setLevel': (turn) => turn.result({}),
  'tools/list': (turn) => turn.result({ tools: [] }),
};

/** Says something on every level that matters here, then is done. */
function chatter(turn: Turn): void {
  turn.stream().event(message('debug')).event(message('info')).event(message('error'));
  turn.event(result(turn.message.id, text('done'))).end();
}

describe('modern requests at a legacy backend', verifies('gateway:bridge:log-level-shared'), () => {
  it('have their level set before they begin, once where it does not change', async () => {
    const { url, backend } = await behindLegacy({ ...quiet, 'tools/call': chatter });
    expect(heard(await send(url, levelled(1, 'info')))).toEqual(['info', 'error']);
    expect(heard(await send(url, levelled(2, 'info')))).toEqual(['info', 'error']);
    expect(heard(await send(url, levelled(3)))).toEqual([]);
    expect(heard(await send(url, levelled(4, 'error')))).toEqual(['error']);
    const said = backend.received.flatMap(({ message: { method, params } = { method: '' } }) =>
      method === 'logging/setLevel' ? [params.level] : method === 'tools/call' ? ['call'] : [],
    );
    expect(said).toEqual(['info', 'call', 'call', 'call', 'error', 'call']);
    const sessions = backend.of('logging/setLevel').map(({ headers }) => headers['mcp-session-id']);
    expect(new Set(sessions)).toEqual(new Set([backend.of('tools/call')[0]?.headers['mcp-session-id']]));
  });

  it('share the most verbose level of those in flight, and each gets its own messages', async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ ...quiet, 'tools/call': held.take });
    const error = send(url, levelled(1, 'error'));
    await held.nth(1);
    const debug = send(url, levelled(2, 'debug'));
    await held.nth(2);
    const none = send(url, levelled(3));
    await held.nth(3);
    const warning = send(url, levelled(4, 'warning'));
    await held.nth(4);
    const levels = () => backend.of('logging/setLevel').map(({ message: { params } }) => params.level);
    expect(levels()).toEqual(['error', 'debug']);
    const finish = (turn: Turn | undefined) => {
      turn?.stream().event(message('debug')).event(message('warning')).event(message('error'));
      turn?.event(result(turn.message.id, text('done'))).end();
    };
    finish(held.turns[1]);
    expect(heard(await debug)).toEqual(['debug', 'warning', 'error']);
    // The most verbose one is gone: the next takes its place.
    await until(() => levels().length === 3, 'the level follows');
    for (const at of [0, 2, 3]) finish(held.turns[at]);
    expect(heard(await error)).toEqual(['error']);
    expect(heard(await none)).toEqual([]);
    expect(heard(await warning)).toEqual(['warning', 'error']);
    expect(levels()).toEqual(['error', 'debug', 'warning', ...levels().slice(3)]);
  });

  it.each([
    { name: 'refuses it', answer: (turn: Turn) => turn.error(-32602, 'No') },
    { name: 'gives an invalid value', answer: (turn: Turn) => turn.raw(500, {}, 'no') },
  ])('go on where the backend $name', async ({ answer }) => {
    const { url } = await behindLegacy({ ...quiet, 'logging/setLevel': answer, 'tools/call': chatter });
    expect(heard(await send(url, levelled(1, 'debug')))).toEqual(['debug', 'info', 'error']);
  });

  it('wait no longer than the limit for a backend that does not answer', async () => {
    const clock = new LeapClock();
    const levels = new Held();
    const { url, backend } = await behindLegacy(
      { ...quiet, 'logging/setLevel': levels.take, 'tools/call': chatter },
      { ports: { clock } },
    );
    const answer = send(url, levelled(1, 'debug'));
    const setting = await levels.nth(1);
    expect(backend.of('tools/call')).toEqual([]);
    clock.leap(2_000);
    expect(heard(await answer)).toEqual(['debug', 'info', 'error']);
    await setting.closed;
  });

  it('are sent on a new session if the old one turns out to be lost while the level is set', async () => {
    let lost = false;
    const { url, backend } = await behindLegacy({
      ...quiet,
      'logging/setLevel': (turn) => {
        if (lost && turn.received.headers['mcp-session-id'] === 'upstream-2') turn.raw(404, {});
        else turn.result({});
      },
      'tools/call': chatter,
    });
    await send(url, levelled(1, 'error'));
    lost = true;
    expect(heard(await send(url, levelled(2, 'debug')))).toEqual(['debug', 'info', 'error']);
    expect(backend.of('tools/call').map(({ headers }) => headers['mcp-session-id'])).toEqual([
      'upstream-2',
      'upstream-3',
    ]);
  });

  it('set no level at a backend without logging', async () => {
    const { url, backend } = await behindLegacy(
      { ...quiet, 'tools/call': chatter },
      { backend: { capabilities: { tools: {} } } },
    );
    await send(url, levelled(1, 'debug'));
    expect(backend.of('logging/setLevel')).toEqual([]);
  });

  it('get messages outside their stream while they are alone; else the messages are dropped and counted', async () => {
    const held = new Held();
    const { url, backend, gateway } = await behindLegacy({ ...quiet, 'tools/call': held.take });
    const first = await Promise.all([open(url, levelled(1, 'info')), held.nth(1).then((turn) => turn.stream())]);
    const [alone, turn] = first;
    const standing = await backend.standing();
    const dropped = () => gateway.counters.snapshot()['backend.odd.unattributed'] ?? 0;
    standing.event(message('debug', 'too low')).event(message('error', 'mine'));
    await alone.message(({ params }) => params?.data === 'mine');
    const second = open(url, levelled(2, 'info'));
    const other = (await held.nth(2)).stream();
    standing.event(message('error', 'whose?'));
    await hasRead(backend, standing);
    expect(dropped()).toBe(1);
    turn.event(result(turn.message.id, text('done'))).end();
    other.event(result(other.message.id, text('done'))).end();
    await alone.ended;
    await (await second).ended;
    standing.event(message('error', 'nobody’s'));
    await hasRead(backend, standing);
    expect(dropped()).toBe(2);
    expect(heard(alone)).toEqual(['mine']);
    expect(heard(await second)).toEqual([]);
  });

  it('get the messages of a process while they are alone in it', async () => {
    const backend = await legacyProcess({
      'logging/setLevel': (turn) => turn.result({}),
      'tools/list': (turn) => turn.result({ tools: [] }),
      'tools/call': (turn) => {
        for (const level of ['debug', 'info', 'error']) turn.process.say(message(level));
        turn.result(text('done'));
      },
    });
    const gateway = await startGateway({ backends: { b: { command: backend.command, args: backend.args } } });
    expect(heard(await send(gateway.url('b'), levelled(1, 'info')))).toEqual(['info', 'error']);
    expect(heard(await send(gateway.url('b'), levelled(2)))).toEqual([]);
    expect(backend.of('logging/setLevel').map(({ message: { params } }) => params.level)).toEqual(['info']);
  });

  it('get the level of the retry if they were pending', async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ ...quiet, 'tools/call': held.take });
    const capabilities = { roots: {} };
    const parking = send(url, levelled(1, undefined, capabilities));
    const turn = (await held.nth(1)).stream();
    turn.event(request('q', 'roots/list'));
    const { requestState } = (await parking).json().result;
    turn.event(message('info', 'while it was parked'));
    await hasRead(backend, turn);
    const params = { name: 't', inputResponses: { 'ask-1': { roots: [] } }, requestState };
    const retry = await Promise.all([
      send(url, modern({ id: 2, method: 'tools/call', params, capabilities, meta: { [key]: 'info' } })),
      backend.arrival('logging/setLevel').then(() => {
        turn.event(message('debug')).event(message('info', 'afterwards'));
        turn.event(result(turn.message.id, text('done'))).end();
      }),
    ]);
    expect(heard(retry[0])).toEqual(['while it was parked', 'afterwards']);
    expect(backend.of('logging/setLevel').map(({ message: { params: set } }) => set)).toEqual([{ level: 'info' }]);
  });
});

it(
  'clients of a shared process share the most verbose level, and each gets its own messages',
  verifies('gateway:backend:shared-process'),
  async () => {
    const backend = await legacyProcess({ 'logging/setLevel': (turn) => turn.result({}) });
    const gateway = await startGateway({
      backends: { b: { command: backend.command, args: backend.args, share: true } },
    });
    const clients = [await connectLegacy(gateway.url('b')), await connectLegacy(gateway.url('b'))];
    const [a, b] = clients as [(typeof clients)[0], (typeof clients)[0]];
    const streams = [await a.listen(), await b.listen()];
    expect((await a.post(request(1, 'logging/setLevel', { level: 'debug' }))).json()).toEqual(result(1, {}));
    expect((await b.post(request(1, 'logging/setLevel', { level: 'error' }))).json()).toEqual(result(1, {}));
    const sets = backend.of('logging/setLevel');
    expect(sets.map(({ message: { params } }) => params.level)).toEqual(['debug', 'debug']);
    for (const level of ['debug', 'error']) sets[0]?.process.say(message(level));
    await Promise.all(streams.map((stream) => stream.message(({ params }) => params?.data === 'error')));
    expect(streams.map(heard)).toEqual([['debug', 'error'], ['error']]);
  },
);

it(
  'the level of a legacy session is in each of its requests to a modern backend',
  verifies('gateway:bridge:set-level'),
  async () => {
    const { url, backend } = await behindModern({
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
      'tools/call': chatter,
    });
    const client = await connectLegacy(url);
    await client.post(call(1));
    expect((await client.post(request(2, 'logging/setLevel', { level: 'info' }))).json()).toEqual(result(2, {}));
    expect(heard(await client.post(call(3)))).toEqual(['info', 'error']);
    await client.post(request(4, 'logging/setLevel', { level: 'error' }));
    expect(heard(await client.post(call(5)))).toEqual(['error']);
    expect(backend.of('tools/call').map(({ message: { params } }) => params._meta[key])).toEqual([
      undefined,
      'info',
      'error',
    ]);
    expect(backend.of('logging/setLevel')).toEqual([]);
  },
);
