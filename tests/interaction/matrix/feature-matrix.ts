/** Every feature in every pair of eras, over one pair of transports. */
import { describe, expect, it } from 'vitest';
import type { Era, Revision } from '../../../src/wire/revisions.ts';
import type { RequirementId } from '../../requirements/catalogue.ts';
import { verifies } from '../../requirements/verifies.ts';
import { eras } from '../harness/eras.ts';
import { record } from './cells.ts';
import { type Feature, features } from './features.ts';
import { setStage } from './stage.ts';
import type { Transport } from './wires.ts';
import { works } from './words.ts';

/** The newest of each. */
export const newest: Readonly<Record<Era, Revision>> = { legacy: '2025-11-25', modern: '2026-07-28' };

export interface Transports {
  readonly client: Transport;
  readonly backend: Transport;
}

export function featureMatrix(transports: Transports): void {
  for (const client of eras) for (const backend of eras) featuresOf({ client, backend }, transports);
}

function featuresOf(pair: Pair, transports: Transports): void {
  describe(`${pair.client} client over ${transports.client}, ${pair.backend} backend over ${transports.backend}`, () => {
    for (const feature of features.filter(({ only = pair.backend }) => only === pair.backend)) {
      it(feature.name, verifies(...proven(feature, pair)), async ({ task }) => {
        const { deeds, run } = feature.act(pair.backend);
        const stage = await setStage({
          client: { revision: newest[pair.client], transport: transports.client },
          backend: { revision: newest[pair.backend], transport: transports.backend },
          ...(feature.capabilities && { capabilities: feature.capabilities }),
          deeds,
        });
        const words = await run(stage);
        expect(words).toBe(expected(feature, pair, transports));
        record(task, {
          table: 'features',
          row: feature.name,
          place: features.indexOf(feature),
          column: `${pair.client} client, ${pair.backend} backend`,
          over: `${transports.client}, ${transports.backend}`,
          words,
        });
      });
    }
  });
}

export interface Pair {
  readonly client: Era;
  readonly backend: Era;
}

/** What is to come of it, in words. */
export function expected({ otherwise = [] }: Feature, pair: Pair, { backend }: Transports): string {
  const exception = otherwise.find(
    (one) =>
      (one.client ?? pair.client) === pair.client &&
      (one.backend ?? pair.backend) === pair.backend &&
      (one.over ?? backend) === backend,
  );
  return exception?.words ?? works;
}

function proven({ proves = {} }: Feature, { client, backend }: Pair): readonly RequirementId[] {
  const { down = [], up = [] } = proves;
  const crossed = client === backend ? [] : client === 'legacy' ? down : up;
  return ['gateway:bridge:four-pairs', ...crossed];
}
