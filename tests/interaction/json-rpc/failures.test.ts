/** Services that are away, slow, endless, or say what is no JSON-RPC; clients that go away; a gateway that stops. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { open, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { ask, echo, error, json, launchService, openShop, type Serve, tell } from './setup.ts';

const good = '{"jsonrpc":"2.0","id":1,"result":1}';
const typed =
  (type: string, body: string, status = 200): Serve =>
  ({ response }) =>
    void response.writeHead(status, { 'content-type': type }).end(body);

describe('an invalid response', () => {
  const cases: readonly { name: string; serve: Serve; reason: string }[] = [
    { name: 'an event stream', serve: typed('text/event-stream', `data: ${good}\n\n`), reason: 'backend_invalid' },
    { name: 'a page', serve: typed('text/html', '<p>'), reason: 'backend_invalid' },
    { name: 'no JSON', serve: typed('application/json', '{"jsonrpc":"2.0","id":1,'), reason: 'backend_invalid' },
    { name: 'more than one document', serve: typed('application/json', `${good}${good}`), reason: 'backend_invalid' },
    { name: 'no JSON-RPC', serve: typed('application/json', '{"ok":true}'), reason: 'backend_invalid' },
    { name: 'an array', serve: typed('application/json', `[${good}]`), reason: 'backend_invalid' },
    { name: 'nothing', serve: ({ response }) => void response.writeHead(204).end(), reason: 'backend_invalid' },
    { name: 'a redirect', serve: typed('application/json', good, 307), reason: 'backend_invalid' },
    { name: 'a page with 503', serve: typed('text/html', '<p>', 503), reason: 'backend_unavailable' },
    {
      name: 'other JSON with 500',
      serve: typed('application/json', '{"m":1}', 500),
      reason: 'backend_unavailable',
    },
    { name: 'a challenge to the gateway', serve: typed('application/json', good, 401), reason: 'backend_unavailable' },
    { name: 'a cut', serve: ({ response }) => void response.destroy(), reason: 'backend_unavailable' },
    { name: 'too much', serve: typed('application/json', `${good}${' '.repeat(5000)}`), reason: 'backend_too_large' },
    {
      name: 'too much, piece by piece',
      serve: ({ response }) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write(good);
        response.end(' '.repeat(5000));
      },
      reason: 'backend_too_large',
    },
  ];
  it.each(cases)('$name is $reason', verifies('gateway:json-rpc:service-failures'), async ({ serve, reason }) => {
    const shop = await openShop({ serve, more: { limits: { resultBytes: 4096 } } });
    const answer = await shop.post(ask('m', undefined, 'q'));
    expect({ status: answer.status, body: answer.json() }).toEqual({ status: 200, body: error('q', -32603, reason) });
    expect(shop.records).toMatchObject([{ decision: 'allow', outcome: 'error', reason }]);
  });

  it('each request of a batch gets an error', verifies('gateway:json-rpc:service-failures'), async () => {
    const shop = await openShop({ serve: typed('text/html', '<p>', 502) });
    const answer = await shop.post([ask('a'), tell('b'), ask('c', [], null)]);
    expect(answer.json()).toEqual([1, null].map((id) => error(id, -32603, 'backend_unavailable')));
  });

  it('a batch without requests gets 502', verifies('gateway:json-rpc:one-way'), async () => {
    const shop = await openShop({ serve: typed('application/json', good, 500) });
    const answer = await shop.post(tell('m'));
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: 502,
      body: error(null, -32603, 'backend_unavailable'),
    });
  });
});

describe('time', () => {
  it('a service that does not answer times out', verifies('gateway:json-rpc:service-failures'), async () => {
    const shop = await openShop({ serve: () => undefined, service: { limits: { firstByteMs: 50 } } });
    expect((await shop.post(ask('m'))).json()).toEqual(error(1, -32603, 'backend_timeout'));
  });

  it('so is one that stops in the middle', verifies('gateway:json-rpc:service-failures'), async () => {
    const serve: Serve = ({ response }) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc"');
    const shop = await openShop({ serve, service: { limits: { idleMs: 50 } } });
    expect((await shop.post(ask('m'))).json()).toEqual(error(1, -32603, 'backend_timeout'));
  });
});

describe('a service that does not end its answer to a notification', () => {
  it('does not keep the connection', verifies('gateway:json-rpc:service-failures'), async () => {
    const clock = new LeapClock();
    let cut = false;
    const serve: Serve = ({ response }) => {
      response.on('close', () => (cut = true));
      response.writeHead(202).flushHeaders();
      response.write('...');
    };
    const shop = await openShop({ serve, ports: { clock } });
    expect((await shop.post(tell('m'))).status).toBe(202);
    expect(cut).toBe(false);
    clock.leap(6_000);
    await until(() => cut, 'the connection is closed');
    shop.service.serve = echo;
    expect((await shop.post(ask('m'))).json().result).toBeDefined();
  });
});

describe('a service that is down', () => {
  it(
    'gets no requests after a few failures, is probed, and is used again',
    verifies('gateway:json-rpc:service-failures'),
    async () => {
      const shop = await openShop({ more: { limits: { downAfter: 2, restartMinMs: 20, restartMaxMs: 40 } } });
      const port = Number(new URL(shop.service.url).port);
      await shop.service.close();
      const reason = async () => (await shop.post(ask('m'))).json().error?.data;
      expect(await reason()).toEqual({ reason: 'backend_unavailable' });
      const service = shop.gateway.assembled.services.get('ledger')!;
      await reason();
      await until(() => service.state.state === 'down', 'it is down');
      expect(await reason()).toEqual({ reason: 'backend_unavailable', retryAfterMs: expect.any(Number) });
      const again = await launchService(undefined, port);
      try {
        await until(() => service.state.state === 'ready', 'it is back');
        expect(again.visits.map(({ http }) => http)).toContain('HEAD');
        expect((await shop.post(ask('m'))).json().result).toBeDefined();
      } finally {
        await again.close();
      }
    },
  );
});

describe('a client that disconnects', () => {
  it.each([ask('slow'), [ask('slow')], tell('slow')])(
    'cancels its request',
    verifies('gateway:json-rpc:cancelled'),
    async (body) => {
      let cut = false;
      const shop = await openShop({ serve: ({ response }) => void response.on('close', () => (cut = true)) });
      const stop = new AbortController();
      const asking = fetch(shop.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: stop.signal,
      }).catch(() => undefined);
      await until(() => shop.service.visits.length === 1, 'the service has it');
      stop.abort();
      await asking;
      await until(() => cut, 'the service hears of it');
      await until(() => shop.records.length === 1, 'it is recorded');
      expect(shop.records).toMatchObject([{ name: 'slow', outcome: 'cancelled' }]);
    },
  );
});

describe('a gateway that stops', () => {
  it('lets running requests finish, and accepts no new ones', verifies('gateway:json-rpc:stopping'), async () => {
    const shop = await openShop({ serve: () => undefined });
    const running = open(shop.url, { body: ask('slow') });
    await until(() => shop.service.visits.length === 1, 'the service has it');
    const closed = shop.gateway.close(5_000);
    const late = await shop.post(ask('late', undefined, 2));
    expect({ status: late.status, body: late.json() }).toEqual({
      status: 503,
      body: error(2, -32603, 'shutting_down'),
    });
    json(shop.service.visits[0]!.response, good);
    const answer = await running;
    await answer.ended;
    expect(answer.text()).toBe(good);
    await closed;
  });

  it('fails requests that do not finish', verifies('gateway:json-rpc:stopping'), async () => {
    const shop = await openShop({ serve: () => undefined });
    const running = shop.post([ask('slow'), ask('slow', [], 2)]);
    await until(() => shop.service.visits.length === 1, 'the service has it');
    await shop.gateway.close(0);
    expect((await running).json()).toEqual([1, 2].map((id) => error(id, -32603, 'shutting_down')));
  });
});
