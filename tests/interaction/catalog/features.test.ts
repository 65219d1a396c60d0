/**
 * The features of matrix/features.ts once more, at an endpoint behind which three backends stand, of three revisions
 * and both eras, that all have things of the same names. Each feature is one backend's; the others must not matter.
 */
import { describe, expect, it } from 'vitest';
import { era, revisions } from '../../../src/wire/revisions.ts';
import { verifies } from '../../requirements/verifies.ts';
import { eras } from '../harness/eras.ts';
import { actors, type Deeds } from '../matrix/actors.ts';
import { expected, newest, type Pair } from '../matrix/feature-matrix.ts';
import { features } from '../matrix/features.ts';
import { lines } from '../matrix/lines.ts';
import { speakers } from '../matrix/speakers.ts';
import type { Stage } from '../matrix/stage.ts';
import { wires } from '../matrix/wires.ts';
import { among } from './among.ts';
import { openShop, prompt, resource, tool } from './shop.ts';

const goods = { tools: [tool('tool')], prompts: [prompt('p')], resources: [resource('demo://note')] };

/** What a backend has that says nothing else of its lists. */
const lists: Deeds = {
  'tools/list': () => ({ tools: goods.tools }),
  'prompts/list': () => ({ prompts: goods.prompts }),
  'resources/list': () => ({ resources: goods.resources }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
};

async function setCrowdedStage(pair: Pair, deeds: Deeds, capabilities: object): Promise<Stage> {
  const revision = newest[pair.backend];
  const actor = actors[era(revision)]({ ...lists, ...deeds }, () => wire);
  const wire = await wires.http(revision, actor.hears, {});
  const others = [
    await openShop('modern', 'a', goods),
    await openShop('legacy', 'c', { ...goods, revision: '2025-03-26' }),
  ];
  const [first, last] = others.map(({ backend }) => ({ url: backend.url }));
  const line = await lines.http({
    backends: { a: first, b: wire.config, c: last },
    endpoints: [{ path: '/mcp', profile: { revisions: [...revisions], batches: 'allow' } }],
  });
  const speaker = await speakers[pair.client](line, { revision: newest[pair.client], capabilities });
  return { client: among(speaker, 'b'), backend: actor };
}

const pairs = eras.flatMap((client) => eras.map((backend) => ({ client, backend })));

describe.each(pairs)('$client client, $backend backend among three', (pair) => {
  for (const feature of features.filter(({ only = pair.backend }) => only === pair.backend)) {
    it(feature.name, verifies('gateway:catalog:features'), async () => {
      const { deeds, run } = feature.act(pair.backend);
      const stage = await setCrowdedStage(pair, deeds, feature.capabilities ?? {});
      expect(await run(stage)).toBe(expected(feature, pair, { client: 'http', backend: 'http' }));
    });
  }
});
