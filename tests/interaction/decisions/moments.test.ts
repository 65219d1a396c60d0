/** When decision points are asked: not for responses, again for each round, and by the config in force. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, open, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import type { Script, Turn } from '../harness/http-backend.ts';
import { form } from '../harness/server-requests.ts';
import { ask, json, openShop, type Visit } from '../json-rpc/setup.ts';
import { call, openHouse, paths } from '../policy/setup.ts';
import { answerOf, asked, deciding, decisionPoint, kinds, openDecided, pointConfig } from './setup.ts';

const asksAtOnce: Script = {
  GET: (turn) => void turn.stream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: form }),
};

it.each(kinds)(
  'a response of a client to a server request asks nothing of %s, and arrives',
  verifies('gateway:policy:decision-points', 'gateway:policy:response-no-method'),
  async (kind) => {
    const house = await openDecided(
      kind,
      deciding(kind, () => false),
      { era: 'legacy', script: asksAtOnce },
    );
    const client = await connectLegacy(`${house.gateway.origin}${paths.single}`, { capabilities: { elicitation: {} } });
    const stream = await client.listen();
    const question = await stream.message(({ method }) => method === 'elicitation/create');
    const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Ann' } } };
    expect((await client.post(answer)).status).toBe(202);
    const arrived = () => house.a.received.find(({ message }) => message?.id === 'q' && message.result !== undefined);
    await until(() => arrived() !== undefined, 'the answer arrived');
    expect(house.point.visits).toHaveLength(0);
    stream.close();
  },
);

it(
  'each round of a call is asked about anew, and a denial ends it',
  verifies('gateway:policy:decision-points', 'gateway:policy:decided-anew'),
  async () => {
    const required = {
      resultType: 'input_required',
      inputRequests: { q: { method: 'elicitation/create', params: form } },
    };
    const script: Script = { 'tools/call': (turn) => turn.result({ ...required, requestState: 'state' }) };
    let rounds = 0;
    const house = await openDecided('opa', ({ response }) => json(response, { result: ++rounds < 2 }), { script });
    const url = `${house.gateway.origin}${paths.single}`;
    const capabilities = { elicitation: {} };
    const first = (await send(url, modern({ ...call('read_file'), capabilities }))).json();
    expect(first.result.resultType).toBe('input_required');
    const params = {
      ...call('read_file').params,
      requestState: first.result.requestState,
      inputResponses: { q: { action: 'accept', content: { name: 'Ann' } } },
    };
    const { error } = (await send(url, modern({ method: 'tools/call', params, capabilities }))).json();
    expect(error.data.decisionPoint).toBe('pdp');
    expect(house.a.of('tools/call')).toHaveLength(1);
  },
);

it(
  'a fault does not end a call that waits for its client: the client answers again',
  verifies('gateway:policy:decision-faults', 'gateway:policy:decided-anew'),
  async () => {
    const calls: Turn[] = [];
    const script: Script = {
      'tools/call': (turn) => {
        calls.push(turn);
        turn.stream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: form });
      },
      POST: (turn) => {
        turn.raw(202, {});
        for (const one of calls)
          one
            .event({ jsonrpc: '2.0', id: one.message.id, result: { content: [{ type: 'text', text: 'done' }] } })
            .end();
      },
    };
    const house = await openDecided(
      'opa',
      deciding('opa', () => true),
      { era: 'legacy', script },
    );
    const url = `${house.gateway.origin}${paths.single}`;
    const capabilities = { elicitation: {} };
    const first = (await send(url, modern({ ...call('read_file'), capabilities }))).json();
    const [question = ''] = Object.keys(first.result.inputRequests);
    const params = {
      ...call('read_file').params,
      requestState: first.result.requestState,
      inputResponses: { [question]: { action: 'accept', content: { name: 'Ann' } } },
    };
    const retry = async () => (await send(url, modern({ method: 'tools/call', params, capabilities }))).json();
    house.point.serve = ({ response }) => json(response, {}, 500);
    expect((await retry()).error.data.reason).toBe('decision_unavailable');
    house.point.serve = deciding('opa', () => true);
    expect((await retry()).result.content[0].text).toBe('done');
    expect(calls).toHaveLength(1);
  },
);

it(
  'a listen has the resources that the decision point allows',
  verifies('gateway:policy:decision-points', 'gateway:policy:filtered'),
  async () => {
    const house = await openDecided('opa', (visit) =>
      json(visit.response, { result: asked(visit).input.name !== 'doc://secret' }),
    );
    const notifications = { resourceSubscriptions: ['doc://open', 'doc://secret'] };
    const request = modern({ method: 'subscriptions/listen', params: { notifications } });
    const stream = await open(`${house.gateway.origin}${paths.single}`, request);
    await until(() => house.a.of('subscriptions/listen').length === 1, 'the backend was asked');
    const [{ message }] = house.a.of('subscriptions/listen') as [Json];
    expect(message.params.notifications.resourceSubscriptions).toEqual(['doc://open']);
    stream.close();
    await until(() => house.records.length > 0, 'the record is written');
    expect(house.records.at(-1)).toMatchObject({
      names: ['doc://open'],
      deniedNames: ['doc://secret'],
      decisions: [{ effect: 'allow' }, { effect: 'deny' }],
    });
  },
);

it(
  'methods of a JSON-RPC service are asked about too, and one denial denies the batch',
  verifies('gateway:policy:decision-points', 'gateway:policy:no-permit-no-byte'),
  async () => {
    const point = await decisionPoint((visit) =>
      json(visit.response, { result: asked(visit).input.name === 'balance' }),
    );
    const shop = await openShop({ more: { policy: { decisions: [pointConfig('opa', point, { arguments: true })] } } });
    expect((await shop.post(ask('balance', { of: 'me' }))).json().result.method).toBe('balance');
    expect(point.visits.map((visit) => asked(visit).input.arguments)).toEqual([{ of: 'me' }]);
    shop.service.forget();
    expect((await shop.post(ask('pay'))).json().error.data.decisionPoint).toBe('pdp');
    const both = (await shop.post([ask('balance'), ask('pay', {}, 2)])).json();
    expect(both.map(({ error }: Json) => error.code)).toEqual([403, 403]);
    expect(shop.service.bytes).toBe(0);
  },
);

it(
  'a reload brings another decision point into force; a call that waits for the earlier one is not lost',
  verifies('gateway:policy:decision-points', 'gateway:reload:policy'),
  async () => {
    const held: Visit[] = [];
    const [before, after] = await Promise.all([
      decisionPoint((visit) => void held.push(visit)),
      decisionPoint(deciding('opa', () => false)),
    ]);
    const policy = (point: typeof before) => ({
      policy: { decisions: [pointConfig('opa', point, { timeoutMs: 30_000 })] },
    });
    const house = await openHouse({ more: policy(before) });
    const url = `${house.gateway.origin}${paths.single}`;
    const waiting = send(url, modern(call('read_file')));
    await until(() => held.length === 1, 'the earlier decision point was asked');
    house.reload(policy(after));
    expect((await send(url, modern(call('read_file')))).json().error.data.decisionPoint).toBe('pdp');
    expect(after.visits).toHaveLength(1);
    for (const visit of held) json(visit.response, answerOf('opa', visit, true));
    expect((await waiting).json().result.content[0].text).toBe('read_file');
    expect(before.visits).toHaveLength(1);
  },
);
