/**
 * `limits.listenStreams`: how many `subscriptions/listen` one principal may have open at once. A stream counts once
 * while it is open, and not at all afterwards, however it ended.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { cancelled, request } from '../harness/behind.ts';
import { DEADLINE_MS, type Json, type OpenAnswer, open, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { modern, modernMeta } from '../harness/eras.ts';
import { type ConfigValue, startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script, type Turn } from '../harness/http-backend.ts';
import { configFile, StdioClient } from '../harness/program.ts';

const LIMIT = 3;
const limits = { listenStreams: LIMIT };
const params = { notifications: { toolsListChanged: true } };
const listen = modern({ method: 'subscriptions/listen', params });

function acknowledge(turn: Turn): void {
  turn.stream().event({
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: {
      _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id },
      notifications: turn.message.params.notifications,
    },
  });
}

const isAcknowledged = ({ method }: Json) => method === 'notifications/subscriptions/acknowledged';

/** Sends until it is not refused: the gateway may not have noticed yet that an earlier stream was closed. */
async function begun(url: string, call = listen): Promise<OpenAnswer> {
  const deadline = Date.now() + DEADLINE_MS / 2;
  let stream = await open(url, call);
  while (stream.status === 429 && Date.now() < deadline) stream = await open(url, call);
  return stream;
}

/** Exactly as many as the limit says can be open at once. */
async function expectAllSlotsFree(url: string): Promise<void> {
  const streams: OpenAnswer[] = [];
  for (let count = 0; count < LIMIT; count++) {
    const stream = await begun(url);
    expect(stream.status).toBe(200);
    await stream.message(isAcknowledged);
    streams.push(stream);
  }
  const refused = await send(url, listen);
  expect(refused.status).toBe(429);
  expect(refused.json().error.data.reason).toBe('too_many_requests');
  for (const stream of streams) stream.close();
}

/** Resources are never acknowledged, nor found. */
const forgetful: Script = {
  'subscriptions/listen': (turn) => {
    if (turn.message.params.notifications.resourceSubscriptions === undefined) acknowledge(turn);
  },
  'resources/list': () => undefined,
  'resources/subscribe': () => undefined,
};

async function house(script: Script = forgetful, more: ConfigValue = {}) {
  const m = await modernBackend(script);
  const l = await legacyBackend(script);
  const config = { backends: { m: { url: m.url }, l: { url: l.url } }, limits, ...more };
  return { gateway: await startGateway(config), config };
}

const endpoints = [
  { name: 'a merged endpoint', backend: undefined },
  { name: 'the endpoint of a modern backend', backend: 'm' },
  { name: 'the endpoint of a legacy backend', backend: 'l' },
] as const;

describe.each(endpoints)('at $name', verifies('gateway:modern:listen-counted-once'), ({ backend }) => {
  it('as many subscriptions as the limit can be open, again and again', async () => {
    const { gateway } = await house();
    for (let round = 0; round < 3; round++) await expectAllSlotsFree(gateway.url(backend));
  });

  it('a subscription that its client closes before the acknowledgement counts no longer', async () => {
    const { gateway } = await house();
    const url = gateway.url(backend);
    const waiting = { notifications: { resourceSubscriptions: ['x://y'] } };
    for (let round = 0; round < 3 * LIMIT; round++) {
      const stream = await begun(url, modern({ method: 'subscriptions/listen', params: waiting }));
      expect({ status: stream.status, events: stream.events }).toEqual({ status: 200, events: [] });
      stream.close();
    }
    await expectAllSlotsFree(url);
  });

  it('a subscription that is refused, or that policy denies, does not count', async () => {
    const policy = { rules: [{ id: 'no-subscribing', effect: 'deny', what: ['subscribe'] }] };
    const { gateway } = await house({ 'subscriptions/listen': acknowledge }, { policy });
    const url = gateway.url(backend);
    const refused = (notifications: unknown) => modern({ method: 'subscriptions/listen', params: { notifications } });
    for (let round = 0; round < 2 * LIMIT; round++) {
      expect((await send(url, refused(5))).body).toContain('"reason":"invalid_params"');
      expect((await send(url, refused({}))).body).toContain('"reason":"policy_denied"');
    }
    await expectAllSlotsFree(url);
  });

  it('a subscription that a reload ends counts no longer', async () => {
    const { gateway, config } = await house();
    const renamed = { m: { ...config.backends.m, headers: { 'x-other': '1' } }, l: { url: config.backends.m.url } };
    const away = { ...config, endpoints: [{ path: '/elsewhere' }], backends: renamed };
    for (let round = 0; round < 2; round++) {
      const streams: OpenAnswer[] = [];
      for (let count = 0; count < LIMIT; count++) streams.push(await begun(gateway.url(backend)));
      for (const stream of streams) await stream.message(isAcknowledged);
      gateway.reload(away);
      for (const stream of streams) await stream.ended;
      gateway.reload(config);
    }
    await expectAllSlotsFree(gateway.url(backend));
  });
});

it(
  'a subscription that the backend refuses, or ends, counts no longer',
  verifies('gateway:modern:listen-counted-once'),
  async () => {
    let isWell = false;
    const { gateway } = await house({
      'subscriptions/listen': (turn) => (isWell ? acknowledge(turn) : turn.error(-32603, 'Out of order')),
    });
    for (let round = 0; round < 2 * LIMIT; round++) {
      expect((await send(gateway.url('m'), listen)).body).toContain('"error"');
    }
    isWell = true;
    await expectAllSlotsFree(gateway.url('m'));
  },
);

it(
  'a subscription at a backend that cannot be reached does not count',
  verifies('gateway:modern:listen-counted-once'),
  async () => {
    const clock = new LeapClock();
    const backend = await legacyBackend();
    const gateway = await startGateway({ backends: { l: { url: backend.url } }, limits }, { clock });
    await backend.close();
    for (let round = 0; round < 2 * LIMIT; round++) {
      expect((await send(gateway.url('l'), listen)).body).toContain('"reason":"backend_unavailable"');
    }
    await backend.reopen();
    await until(() => {
      clock.leap(1000);
      return gateway.assembled.backends.get('l')?.state.state === 'ready';
    }, 'the backend is back');
    await expectAllSlotsFree(gateway.url('l'));
  },
);

it(
  'over stdio as many subscriptions as the limit can be open, again and again',
  verifies('gateway:modern:listen-counted-once'),
  async () => {
    const backend = await modernBackend({ 'subscriptions/listen': acknowledge });
    const client = new StdioClient(configFile({ backends: { m: { url: backend.url } }, limits }));
    const say = (id: number) => request(id, 'subscriptions/listen', { ...params, _meta: modernMeta() });
    for (let id = 0; id < 3 * LIMIT; id++) {
      client.say(say(id));
      await client.message(
        (message) => isAcknowledged(message) && message.params._meta['io.modelcontextprotocol/subscriptionId'] === id,
      );
      if (id % LIMIT !== LIMIT - 1) continue;
      expect((await client.ask(say(100 + id))).error.data.reason).toBe('too_many_requests');
      for (let open = id - LIMIT + 1; open <= id; open++) client.say(cancelled(open));
    }
  },
);
