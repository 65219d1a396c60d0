/** Lists have only what decision points allow, by one question. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { json, type Serve } from '../json-rpc/setup.ts';
import { openHouse, paths, tools, ways } from '../policy/setup.ts';
import { asked, deciding, decisionPoint, openDecided, pointConfig } from './setup.ts';

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const mayRead = (name: string) => !name.includes('delete');
const namesOf = ({ result }: Json) => result.tools.map(({ name }: { name: string }) => name);

describe.each(['legacy', 'modern'] as const)('with %s backends', (era) => {
  it.each(ways)(
    'over $name AuthZEN is asked once for a whole list',
    verifies('gateway:policy:decision-lists'),
    async (way) => {
      const house = await openDecided('authzen', deciding('authzen', mayRead), { era });
      const client = await way.enter(house);
      const answer = await client.ask(list);
      const prefixes = way.where === 'merged' ? ['a__', 'b__'] : [''];
      expect(namesOf(answer)).toEqual(prefixes.flatMap((prefix) => [`${prefix}read_file`, `${prefix}list_files`]));
      if (way.name.includes('modern')) expect(answer.result.cacheScope).toBe('private');
      expect(house.point.visits).toHaveLength(1);
      const [visit] = house.point.visits;
      const { action, options, evaluations } = visit === undefined ? {} : asked(visit);
      expect(action).toEqual({ name: 'tools/call' });
      expect(options).toEqual({ evaluations_semantic: 'execute_all' });
      expect(evaluations).toHaveLength(prefixes.length * tools.length);
      const backends = evaluations.map(({ resource }: Json) => resource.properties.backend);
      expect([...new Set(backends)]).toEqual(way.where === 'merged' ? ['a', 'b'] : ['a']);
      expect(house.records.at(-1)).toMatchObject({ action: 'list', decisions: [{ point: 'pdp', effect: 'filter' }] });
    },
  );
});

it('OPA is asked once, by the rule for lists', verifies('gateway:policy:decision-lists'), async () => {
  const serve: Serve = (visit) => json(visit.response, { result: asked(visit).input.names.filter(mayRead) });
  const point = await decisionPoint(serve);
  const decisions = [pointConfig('opa', point, { lists: `${point.url}/visible` })];
  const house = await openHouse({ more: { policy: { decisions } } });
  const answer = await send(`${house.gateway.origin}${paths.single}`, modern(list));
  expect(namesOf(answer.json())).toEqual(['read_file', 'list_files']);
  expect(point.visits.map((visit) => asked(visit).input.entries)).toEqual([
    tools.map((name) => ({ name, backend: 'a' })),
  ]);
});

it(
  'a list is filtered where `what` has the use of its entries',
  verifies('gateway:policy:decision-lists'),
  async () => {
    const point = await decisionPoint(deciding('authzen', () => false));
    const decisions = [pointConfig('authzen', point, { what: ['call'] })];
    const house = await openHouse({
      script: {
        'prompts/list': (turn) =>
          turn.result({ resultType: 'complete', prompts: [{ name: 'hello' }], ttlMs: 0, cacheScope: 'public' }),
      },
      more: { policy: { decisions, rules: [{ id: 'all', effect: 'allow' }] } },
    });
    const url = `${house.gateway.origin}${paths.single}`;
    const prompts = (await send(url, modern({ method: 'prompts/list' }))).json();
    expect(prompts.result.prompts).toEqual([{ name: 'hello' }]);
    expect(point.visits).toHaveLength(0);
    expect(namesOf((await send(url, modern(list))).json())).toEqual([]);
  },
);

it(
  'entries without a name are not shown, also where no other is listed',
  verifies('gateway:policy:decision-lists'),
  async () => {
    const house = await openDecided(
      'authzen',
      deciding('authzen', () => true),
      {
        script: {
          'tools/list': (turn) =>
            turn.result({ resultType: 'complete', tools: [{ title: 'x' }], ttlMs: 0, cacheScope: 'public' }),
        },
        policy: { rules: [{ id: 'all', effect: 'allow' }] },
      },
    );
    const answer = (await send(`${house.gateway.origin}${paths.single}`, modern(list))).json();
    expect(answer.result.tools).toEqual([]);
  },
);

it('a rule of OPA that is undefined for lists shows nothing', verifies('gateway:policy:decision-lists'), async () => {
  const point = await decisionPoint(({ response }) => json(response, {}));
  const decisions = [pointConfig('opa', point, { lists: `${point.url}/visible` })];
  const house = await openHouse({ more: { policy: { decisions } } });
  expect(namesOf((await send(`${house.gateway.origin}${paths.single}`, modern(list))).json())).toEqual([]);
});

it('a webhook has no question about lists: they are whole', verifies('gateway:policy:decision-lists'), async () => {
  const house = await openDecided(
    'webhook',
    deciding('webhook', () => false),
  );
  expect(namesOf((await send(`${house.gateway.origin}${paths.single}`, modern(list))).json())).toEqual(tools);
  expect(house.point.visits).toHaveLength(0);
});

describe.each(['merged', 'single'] as const)('%s', (where) => {
  it.each([
    { name: 'no answer', serve: ({ response }) => void response.socket?.destroy() },
    { name: 'fewer answers', serve: ({ response }) => json(response, { evaluations: [{ decision: true }] }) },
    { name: 'answers of another type', serve: ({ response }) => json(response, { evaluations: 'all' }) },
  ] satisfies { name: string; serve: Serve }[])(
    'a list that gets $name fails, and is not shown empty',
    verifies('gateway:policy:decision-lists', 'gateway:policy:decision-faults'),
    async ({ serve }) => {
      const house = await openDecided('authzen', serve);
      const { error } = (await send(`${house.gateway.origin}${paths[where]}`, modern(list))).json();
      expect(error.data).toMatchObject({ reason: 'decision_unavailable', decisionPoint: 'pdp' });
    },
  );
});

it('a long list is asked about in parts of a thousand entries', verifies('gateway:policy:decision-lists'), async () => {
  const names = Array.from({ length: 2_100 }, (_, at) => `${at % 2 === 0 ? 'read' : 'delete'}_${at}`);
  const all = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
  const house = await openDecided('authzen', deciding('authzen', mayRead), {
    script: {
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: all, ttlMs: 0, cacheScope: 'public' }),
    },
  });
  const answer = await send(`${house.gateway.origin}${paths.single}`, modern(list));
  expect(namesOf(answer.json())).toEqual(names.filter(mayRead));
  const sizes = house.point.visits.map((visit) => asked(visit).evaluations.length);
  expect(sizes.sort((a, b) => b - a)).toEqual([1_000, 1_000, 100]);
});
