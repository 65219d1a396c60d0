/** Reads and checks `rates`. */
import * as z from 'zod';
import type { World } from '../policy/match.ts';
import { type RateSettings, shares } from '../policy/rates.ts';
import type { ConfigDocument } from './document.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';
import { checkPlaces, checkWho } from './policy.ts';
import { actionList, onShape, ruleId, whoShape } from './policy-shapes.ts';
import * as shape from './shapes.ts';

const aRate = 'a number over 0, such as 10 or 0.5';
const count = shape.quantity({ unit: 'count', min: 1, max: 1_000_000 });

const rateShape = shape.once(() =>
  shape
    .closed('a map with `id` and `perSecond` or `concurrent`', {
      id: ruleId,
      per: z.array(shape.choice(shares), { error: `a list of ${shares.join(', ')}` }).default([]),
      who: whoShape().default({}),
      what: actionList.exactOptional(),
      on: onShape().default({}),
      perSecond: z
        .number({ error: aRate })
        .min(0.001, { error: aRate })
        .max(1_000_000, { error: aRate })
        .exactOptional(),
      burst: count.exactOptional(),
      concurrent: count.exactOptional(),
    })
    .refine(({ perSecond, concurrent }) => perSecond !== undefined || concurrent !== undefined, {
      error: '`perSecond`, `concurrent` or both',
    })
    .refine(({ perSecond, burst }) => burst === undefined || perSecond !== undefined, {
      error: '`burst` beside `perSecond`',
    })
    .refine(({ on }) => on.annotations === undefined, {
      error: '`on` without `annotations`: rate limits do not use them',
    }),
);

/** Enough for one limit per tool. */
const MOST_RATES = 1_000;
const list = z.array(z.unknown(), { error: 'a list of limits' }).max(MOST_RATES, { error: `at most ${MOST_RATES}` });

export function readRates(document: ConfigDocument, variables: Variables, world: World): readonly RateSettings[] {
  const items = check(document, ['rates'], document.read(['rates'], variables), list.optional()) ?? [];
  const ids = new Set<string>();
  return items.flatMap((item, at): RateSettings[] => {
    const path = ['rates', at];
    const rate = check(document, path, item, rateShape());
    if (rate === undefined) return [];
    if (ids.has(rate.id))
      document.report([...path, 'id'], { message: `another limit has the id \`${rate.id}\` already` });
    ids.add(rate.id);
    checkPlaces(document, path, rate, world);
    checkWho(document, path, rate, world);
    return [rate];
  });
}
