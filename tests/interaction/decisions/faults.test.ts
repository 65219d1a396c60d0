/** Decision points that do not answer, or not with a valid answer: each fault has its name, and denies. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { json, type Serve, type Visit } from '../json-rpc/setup.ts';
import { call, openHouse, paths } from '../policy/setup.ts';
import { answerOf, deciding, decisionPoint, type Kind, kinds, openDecided, pointConfig } from './setup.ts';

const plain = (text: string, status = 200, type = 'application/json'): Serve => {
  return ({ response }) => void response.writeHead(status, { 'content-type': type }).end(text);
};

interface Fault {
  readonly fault: string;
  readonly when: string;
  serve(kind: Kind): Serve;
}

const faults: readonly Fault[] = [
  { fault: 'wrong_status', when: 'answers 500', serve: () => plain('{}', 500) },
  { fault: 'question_refused', when: 'answers 403', serve: () => plain('{}', 403) },
  {
    fault: 'redirected',
    when: 'redirects',
    serve:
      () =>
      ({ response }) =>
        void response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end(),
  },
  {
    fault: 'wrong_type',
    when: 'answers in another media type',
    serve: (kind) => (visit) => plain(JSON.stringify(answerOf(kind, visit, true)), 200, 'text/html')(visit),
  },
  { fault: 'not_json', when: 'answers with half an object', serve: () => plain('{"decision": true') },
  { fault: 'not_json', when: 'answers with nothing', serve: () => plain('') },
  {
    fault: 'duplicate_keys',
    when: 'answers with two decisions in one object',
    serve: (kind) => (visit) => {
      const yes = JSON.stringify(answerOf(kind, visit, true)).slice(1, -1);
      const no = JSON.stringify(answerOf(kind, visit, false)).slice(1, -1);
      plain(`{${no},${yes}}`)(visit);
    },
  },
  {
    fault: 'too_large',
    when: 'answers with more than a mebibyte',
    serve: (kind) => (visit) => json(visit.response, { ...answerOf(kind, visit, true), more: 'x'.repeat(1024 * 1024) }),
  },
  {
    fault: 'address_unreachable',
    when: 'closes the connection',
    serve:
      () =>
      ({ response }) =>
        void response.socket?.destroy(),
  },
];

describe.each(kinds)('a decision point that speaks %s', (kind) => {
  const own: readonly Fault[] = {
    authzen: [
      { fault: 'wrong_shape', when: 'answers with text', serve: () => plain('{"decision":"true"}') },
      {
        fault: 'wrong_id',
        when: 'answers another question',
        serve: (): Serve => (visit: Visit) => {
          visit.response.setHeader('x-request-id', 'another');
          json(visit.response, { decision: true });
        },
      },
    ],
    opa: [{ fault: 'wrong_shape', when: 'answers with a list', serve: () => plain('[true]') }],
    webhook: [
      {
        fault: 'wrong_id',
        when: 'answers another question',
        serve: () => plain('{"uid":"another","allowed":true}'),
      },
      {
        fault: 'wrong_shape',
        when: 'wants to change the message',
        serve: (): Serve => (visit: Visit) =>
          json(visit.response, { ...answerOf('webhook', visit, true), patch_type: 'json_patch', patch: [] }),
      },
    ],
  }[kind];

  it.each([...faults, ...own])(
    'and $when denies with the fault $fault, and nothing is sent',
    verifies('gateway:policy:decision-faults', 'gateway:policy:no-permit-no-byte'),
    async ({ fault, serve }) => {
      const house = await openDecided(kind, serve(kind));
      const url = `${house.gateway.origin}${paths.single}`;
      const { error } = (await send(url, modern(call('read_file')))).json();
      expect(error.data).toMatchObject({ reason: 'decision_unavailable', decisionPoint: 'pdp' });
      expect(house.bytes).toBe(0);
      expect(house.records).toMatchObject([
        { decision: 'deny', reason: 'decision_unavailable', decisions: [{ point: 'pdp', fault }] },
      ]);
    },
  );

  it(
    'and hangs denies when its time is over; what it answers later changes nothing',
    verifies('gateway:policy:decision-faults'),
    async () => {
      const held: Visit[] = [];
      const point = await decisionPoint((visit) => void held.push(visit));
      const backend = await modernBackend();
      const decisions = [pointConfig(kind, point, { timeoutMs: 50 })];
      const gateway = await startGateway({ backends: { a: { url: backend.url } }, policy: { decisions } });
      const answer = send(gateway.url(), modern(call('read_file')));
      const { error } = (await answer).json();
      expect(error.data.reason).toBe('decision_unavailable');
      for (const visit of held) json(visit.response, answerOf(kind, visit, true));
      expect(backend.of('tools/call')).toHaveLength(0);
    },
  );

  it(
    'with `onFailure: allow` the call is sent, and the record has the fault',
    verifies('gateway:policy:decision-faults'),
    async () => {
      const house = await openDecided(kind, plain('{}', 500), { point: { onFailure: 'allow' } });
      const { result } = (await send(`${house.gateway.origin}${paths.single}`, modern(call('read_file')))).json();
      expect(result.content[0].text).toBe('read_file');
      expect(house.records.at(-1)).toMatchObject({ decision: 'allow', decisions: [{ fault: 'wrong_status' }] });
    },
  );
});

it(
  'a call too large for a question is denied, whatever `onFailure` says',
  verifies('gateway:policy:decision-faults'),
  async () => {
    const house = await openDecided(
      'webhook',
      deciding('webhook', () => true),
      { point: { onFailure: 'allow' } },
    );
    const args = { text: 'x'.repeat(1024 * 1024) };
    const { error } = (await send(`${house.gateway.origin}${paths.single}`, modern(call('read_file', args)))).json();
    expect(error.data.reason).toBe('decision_unavailable');
    expect(house.records.at(-1)?.decisions?.[0]?.fault).toBe('question_too_large');
    expect(house.point.visits).toHaveLength(0);
    expect(house.bytes).toBe(0);
  },
);

it(
  'after five faults in a row a decision point is not asked for a while; then one question tries',
  verifies('gateway:policy:decision-faults'),
  async () => {
    const clock = new LeapClock();
    const point = await decisionPoint(plain('{}', 500));
    const backend = await modernBackend({
      'tools/call': (turn) => turn.result({ resultType: 'complete', content: [] }),
    });
    const config = { backends: { a: { url: backend.url } }, policy: { decisions: [pointConfig('opa', point)] } };
    const gateway = await startGateway(config, { clock });
    const ask = async () => (await send(gateway.url(), modern(call('read_file')))).json();
    for (let count = 0; count < 7; count += 1) expect((await ask()).error.data.reason).toBe('decision_unavailable');
    expect(point.visits).toHaveLength(5);
    clock.leap(5_000);
    expect((await ask()).error.data.reason).toBe('decision_unavailable');
    expect((await ask()).error.data.reason).toBe('decision_unavailable');
    expect(point.visits).toHaveLength(6);
    point.serve = deciding('opa', () => true);
    clock.leap(5_000);
    expect((await ask()).result.content).toEqual([]);
    expect((await ask()).result.content).toEqual([]);
    expect(point.visits).toHaveLength(8);
  },
);

it.each([400, 403, 413, 429])(
  'a question that is answered with %i is denied, whatever `onFailure` says, and opens no circuit',
  verifies('gateway:policy:decision-faults', 'gateway:policy:no-permit-no-byte'),
  async (status) => {
    const house = await openDecided('opa', plain('{}', status), { point: { onFailure: 'allow' } });
    const url = `${house.gateway.origin}${paths.single}`;
    for (let count = 0; count < 6; count += 1) {
      const { error } = (await send(url, modern(call('read_file')))).json();
      expect(error.data.reason).toBe('decision_unavailable');
    }
    expect(house.point.visits).toHaveLength(6);
    expect(house.records.at(-1)?.decisions?.[0]?.fault).toBe('question_refused');
    expect(house.a.of('tools/call')).toHaveLength(0);
  },
);

it(
  'a principal with many questions waiting delays only itself',
  verifies('gateway:policy:decision-faults', 'gateway:identity:no-sharing'),
  async () => {
    const ring = keyRing();
    const [greedy, modest] = [ring.make('greedy'), ring.make('modest')];
    const held: Visit[] = [];
    const point = await decisionPoint((visit) => {
      if (visit.text.includes('greedy')) held.push(visit);
      else json(visit.response, { result: true });
    });
    const decisions = [pointConfig('opa', point, { concurrent: 8, timeoutMs: 30_000 })];
    const house = await openHouse({ more: { policy: { decisions }, identity: { keys: { file: ring.path } } } });
    const url = `${house.gateway.origin}${paths.single}`;
    const as = (key: string) => {
      const request = modern(call('read_file'));
      return { ...request, headers: { ...request.headers, authorization: `Bearer ${key}` } };
    };
    const many = Array.from({ length: 20 }, () => send(url, as(greedy)));
    // A quarter of eight.
    await until(() => held.length === 2, 'the greedy principal has its share');
    expect((await send(url, as(modest))).json().result.content[0].text).toBe('read_file');
    expect(held).toHaveLength(2);
    point.serve = ({ response }) => json(response, { result: true });
    for (const visit of held) json(visit.response, { result: true });
    for (const answer of many) expect((await answer).json().result.content[0].text).toBe('read_file');
  },
);

it.each([
  { url: 'http://pdp.example/', problem: 'https' },
  { url: 'https://me:secret@pdp.example/', problem: 'user name' },
  { url: 'ftp://pdp.example/', problem: 'http' },
])(
  'the address $url is refused when the config is read',
  verifies('gateway:policy:decision-faults'),
  async ({ url, problem }) => {
    const config = { backends: {}, policy: { decisions: [{ name: 'pdp', opa: url }] } };
    await expect(startGateway(config)).rejects.toThrow(problem);
  },
);
