/** Calls of JSON-RPC services in metrics and in the request log. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send, until } from '../harness/client.ts';
import { samplesIn, scrape, total } from '../observe/scrape.ts';
import { ask, json, openShop, type Plan, type Shop, tell } from './setup.ts';

const calls = 'rpc_server_call_duration_seconds_count';

const rules = [
  { id: 'named', effect: 'allow', what: ['rpc'], on: { methods: ['get', 'eth_*'] } },
  { id: 'others', effect: 'allow', what: ['rpc'] },
  { id: 'no-drops', effect: 'deny', on: { methods: ['drop'] } },
];

const observed = (plan: Plan = {}) => openShop({ ...plan, more: { log: { requests: true }, policy: { rules } } });

function lines({ gateway }: Shop): readonly Readonly<Record<string, unknown>>[] {
  return gateway.log.filter(({ text }) => text === 'request').map(({ facts }) => facts);
}

it('each call is a line of the request log, without its params', verifies('gateway:observe:json-rpc'), async () => {
  const shop = await observed();
  const answer = await shop.post(ask('get', { secret: 'hunter2' }), { 'x-request-id': 'mine-1' });
  expect(answer.headers['x-request-id']).toBe('mine-1');
  await shop.post(tell('note'));
  await shop.post(ask('drop'));
  const [called, told, denied] = lines(shop);
  expect(called).toEqual({
    requestId: 'mine-1',
    principal: 'local',
    address: '127.0.0.1',
    endpoint: '/rpc',
    method: 'get',
    backend: 'ledger',
    status: 200,
    outcome: 'result',
    reason: undefined,
    ms: expect.any(Number),
  });
  expect(told).toMatchObject({ method: 'note', status: 204, outcome: 'accepted' });
  expect(denied).toMatchObject({ method: 'drop', status: 200, outcome: 'error', reason: 'policy_denied' });
  expect(JSON.stringify(shop.gateway.log)).not.toContain('hunter2');
});

it('each member of a batch has a line, with its own outcome', verifies('gateway:observe:json-rpc'), async () => {
  const failed = { jsonrpc: '2.0', id: 2, error: { code: -32601, message: 'no such method' } };
  const shop = await observed({
    endpoint: { profile: { batches: 'allow' } },
    serve: ({ response }) => json(response, [{ jsonrpc: '2.0', id: 1, result: 0 }, failed]),
  });
  await shop.post([ask('get', [], 1), ask('eth_call', [], 2), tell('note')]);
  const seen = lines(shop).map(({ method, outcome, status }) => ({ method, outcome, status }));
  expect(seen).toEqual([
    { method: 'get', outcome: 'result', status: 200 },
    { method: 'eth_call', outcome: 'error', status: 200 },
    { method: 'note', outcome: 'accepted', status: 200 },
  ]);
  expect(new Set(lines(shop).map(({ requestId }) => requestId)).size).toBe(1);
});

it('a client that leaves has cancelled its call', verifies('gateway:observe:json-rpc'), async () => {
  const shop = await observed({ serve: () => undefined });
  const leaving = new AbortController();
  const gone = fetch(shop.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(ask('get')),
    signal: leaving.signal,
  }).catch(() => undefined);
  await until(() => shop.service.visits.length === 1, 'the service is called');
  expect(total(scrape(shop.gateway), 'bascule_open_requests', { bascule_endpoint: '/rpc' })).toBe(1);
  leaving.abort();
  await gone;
  await until(() => lines(shop).length === 1, 'the call is over');
  expect(lines(shop)[0]).toMatchObject({ method: 'get', outcome: 'cancelled', status: undefined });
  expect(total(scrape(shop.gateway), calls, { rpc_method: 'get', error_type: 'cancelled' })).toBe(1);
  expect(total(scrape(shop.gateway), 'bascule_open_requests')).toBe(0);
});

it('calls are counted by the methods that rules spell out', verifies('gateway:observe:json-rpc'), async () => {
  const shop = await observed({
    serve: ({ text, response }) => {
      const { id, method } = JSON.parse(text);
      if (method === 'get') json(response, { jsonrpc: '2.0', id, result: 0 });
      else json(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } });
    },
  });
  for (const method of ['get', 'get', 'eth_call', 'drop']) await shop.post(ask(method));
  const samples = scrape(shop.gateway);
  const at = { bascule_endpoint: '/rpc' };
  expect(total(samples, calls, at)).toBe(4);
  expect(total(samples, calls, { ...at, rpc_method: 'get' })).toBe(2);
  expect(total(samples, calls, { ...at, rpc_method: '_OTHER', error_type: '-32601' })).toBe(1);
  expect(total(samples, calls, { ...at, rpc_method: 'drop', bascule_reason: 'policy_denied' })).toBe(1);
});

it('made-up methods add no series', verifies('gateway:observe:json-rpc', 'gateway:observe:cardinality'), async () => {
  const shop = await observed();
  await send(shop.url, { body: ask('made-up') });
  const before = scrape(shop.gateway).length;
  for (let n = 0; n < 200; n++) await send(shop.url, { body: ask(`made-up-${n}`) });
  const text = shop.gateway.metrics.text('openmetrics');
  expect(samplesIn(text)).toHaveLength(before);
  expect(text).not.toContain('made-up');
});
