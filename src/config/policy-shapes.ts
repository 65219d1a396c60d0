/** The shape of `policy` in a file. */
import * as z from 'zod';
import { actions, askKinds, openByDefault } from '../policy/actions.ts';
import { approvers } from '../policy/approval.ts';
import { compileGlob, type GlobStyle } from '../policy/glob.ts';
import { hintNames, modes, ruleEffects } from '../policy/rules.ts';
import * as shape from './shapes.ts';

/** Enough to name everything in an organization. */
const MOST_RULES = 10_000;
const MOST_ENTRIES = 1_000;

const aPattern = 'text: a name, or a pattern with `*`';

export function patternOf(style: GlobStyle) {
  return z.string({ error: aPattern }).superRefine((text, context) => {
    const glob = compileGlob(text, style);
    if (typeof glob === 'string') context.addIssue({ code: 'custom', message: glob });
  });
}

/** An empty list would never match, but looks as if it always did. */
export function listOf<Item extends z.ZodType>(item: Item, what: string) {
  return z
    .array(item, { error: `a list of ${what}` })
    .min(1, { error: 'at least one entry; to match everything, leave out the key' })
    .max(MOST_ENTRIES, { error: `at most ${MOST_ENTRIES} entries` });
}

const names = (what: string) => listOf(patternOf('name'), what).exactOptional();
const paths = (what: string) => listOf(patternOf('path'), what).exactOptional();

const principal = shape.text(
  'the subject of a token, `key:<name>`, `client:<id>`, `local`, or `*` for all principals',
  (text) => typeof compileGlob(text.replace(/^(?:key|client):/, ''), 'name') !== 'string',
);

const aClaim = 'text, numbers, true and false';
const claimValue = z.union([patternOf('name'), z.number(), z.boolean()], { error: aClaim });

export const whoShape = shape.once(() =>
  shape.closed('a map that selects principals', {
    principals: listOf(principal, 'principals').exactOptional(),
    issuers: names('issuers'),
    scopes: names('scopes'),
    claims: z.record(z.string(), listOf(claimValue, aClaim), { error: 'a map of lists, by claim' }).exactOptional(),
    groups: names('groups'),
    keys: names('names of keys'),
  }),
);

const hints = Object.fromEntries(hintNames.map((name) => [name, shape.flag.exactOptional()])) as {
  [Name in (typeof hintNames)[number]]: z.ZodOptional<typeof shape.flag>;
};

export const onShape = shape.once(() =>
  shape.closed('a map that selects items', {
    endpoints: paths('paths of endpoints'),
    backends: names('names of backends'),
    tools: names('names of tools'),
    prompts: names('names of prompts'),
    uris: paths('URIs'),
    asks: listOf(shape.choice(askKinds), 'asks').exactOptional(),
    methods: names('methods of JSON-RPC services'),
    annotations: shape
      .closed('a map of annotations', hints)
      .refine((given) => Object.keys(given).length > 0, { error: 'at least one annotation' })
      .exactOptional(),
  }),
);

export const actionList = listOf(shape.choice(actions), 'actions');

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()], {
  error: 'text, a number, true, false or null',
});
/** Larger numbers cannot be represented exactly. */
const exact = { error: 'an integer that a double represents exactly, or a fraction between such integers' };
const { MIN_SAFE_INTEGER, MAX_SAFE_INTEGER } = Number;
const number = z.number({ error: 'a number' }).min(MIN_SAFE_INTEGER, exact).max(MAX_SAFE_INTEGER, exact);
const bytes = shape.quantity({ unit: 'bytes', min: 0, max: 512 * 1024 * 1024 });
const oneOrMore = <Item extends z.ZodType>(item: Item, expected: string) =>
  z.union([item.transform((one) => [one]), z.array(item).min(1).max(MOST_ENTRIES)], { error: expected });

const argumentTest = shape.once(() =>
  shape
    .closed('a map of tests', {
      equals: oneOrMore(scalar, 'text, a number, true, false or null; or a list of them').exactOptional(),
      glob: oneOrMore(patternOf('path'), 'a pattern, or a list of patterns').exactOptional(),
      min: number.exactOptional(),
      max: number.exactOptional(),
      minBytes: bytes.exactOptional(),
      maxBytes: bytes.exactOptional(),
      present: shape.flag.exactOptional(),
    })
    .refine((test) => Object.keys(test).length > 0, { error: 'at least one test' })
    .refine(({ min, max }) => min === undefined || max === undefined || min <= max, { error: '`min` not above `max`' })
    .refine((test) => test.present !== false || Object.keys(test).length === 1, {
      error: '`present: false` without other tests: an absent argument fails them',
    }),
);

export const ruleId = shape.text('up to 64 letters, digits, dots, dashes and underscores', /^[A-Za-z0-9._-]{1,64}$/);

const mode = z.enum(modes as ['enforce', 'audit'], { error: 'enforce or audit' });

/** A day: longer than that, a person should be asked again. */
const approvalTime = shape.quantity({ unit: 'ms', min: 1_000, max: 24 * 60 * 60_000 });

/** Who is asked for an approval, and for how long it holds. */
export const approvalParts = shape.once(() => ({
  by: shape.choice(approvers).exactOptional(),
  for: approvalTime.exactOptional(),
}));

export const ruleShape = shape.once(() =>
  shape.closed('a map with `id` and `effect`', {
    id: ruleId,
    effect: shape.choice(ruleEffects),
    ...approvalParts(),
    mode: mode.default('enforce'),
    who: whoShape().default({}),
    what: actionList.exactOptional(),
    on: onShape().default({}),
    with: shape
      .closed('a map with `arguments`', {
        arguments: z.record(z.string(), argumentTest(), { error: 'a map of tests, by argument' }),
      })
      .exactOptional(),
    when: z.string({ error: 'a CEL expression' }).exactOptional(),
  }),
);
export type RuleDraft = z.infer<ReturnType<typeof ruleShape>>;

export const policyShape = shape.once(() =>
  shape.closed('a map with `rules`, `decisions` or `cedar`', {
    mode: mode.default('enforce'),
    open: z.array(shape.choice(actions), { error: 'a list of actions' }).default([...openByDefault]),
    trustAnnotationsOf: names('names of backends'),
    groupsClaim: shape.oneLine.default('groups'),
    // Rules are validated separately: a mistake in one must not hide those in the others.
    rules: z
      .array(z.unknown(), { error: 'a list of rules; an empty one denies everything' })
      .max(MOST_RULES, { error: `at most ${MOST_RULES} rules` })
      .exactOptional(),
    // Validated separately, for the same reason.
    decisions: z.unknown().optional(),
    cedar: z.unknown().optional(),
  }),
);
