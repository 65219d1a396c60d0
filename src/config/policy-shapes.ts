/** The shape of `policy` in a file. */
import * as z from 'zod';
import { actions, askKinds } from '../policy/actions.ts';
import { compileGlob, type GlobStyle } from '../policy/glob.ts';
import { hintNames, modes } from '../policy/rules.ts';
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
    .min(1, { error: 'at least one entry; without the key, all are meant' })
    .max(MOST_ENTRIES, { error: `at most ${MOST_ENTRIES} entries` });
}

const names = (what: string) => listOf(patternOf('name'), what).optional();
const paths = (what: string) => listOf(patternOf('path'), what).optional();

const aPrincipal = 'the subject of a token, `key:<name>`, `client:<id>`, `local`, or `*` for everybody';
const principal = z.string({ error: aPrincipal }).superRefine((text, context) => {
  const glob = compileGlob(text.replace(/^(?:key|client):/, ''), 'name');
  if (typeof glob === 'string') context.addIssue({ code: 'custom', message: aPrincipal });
});

const aClaim = 'text, numbers, true and false';
const claimValue = z.union([patternOf('name'), z.number(), z.boolean()], { error: aClaim });

export const whoShape = shape.closed('a map with who is meant', {
  principals: listOf(principal, 'principals').optional(),
  issuers: names('issuers'),
  scopes: names('scopes'),
  claims: z.record(z.string(), listOf(claimValue, aClaim), { error: 'a map of lists, by claim' }).optional(),
  groups: names('groups'),
  keys: names('names of keys'),
});

const hints = Object.fromEntries(hintNames.map((name) => [name, shape.flag.optional()])) as {
  [Name in (typeof hintNames)[number]]: z.ZodOptional<typeof shape.flag>;
};

export const onShape = shape.closed('a map with what is meant', {
  endpoints: paths('paths of endpoints'),
  backends: names('names of backends'),
  tools: names('names of tools'),
  prompts: names('names of prompts'),
  uris: paths('URIs'),
  asks: listOf(shape.choice(askKinds), 'asks').optional(),
  methods: names('methods of JSON-RPC services'),
  annotations: shape
    .closed('a map of annotations', hints)
    .refine((given) => Object.keys(given).length > 0, { error: 'at least one annotation' })
    .optional(),
});

export const actionList = listOf(shape.choice(actions), 'actions');

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()], {
  error: 'text, a number, true, false or null',
});
/** Larger numbers cannot be represented exactly. */
const number = z
  .number({ error: 'a number' })
  .min(Number.MIN_SAFE_INTEGER, { error: 'a number that can be held exactly' })
  .max(Number.MAX_SAFE_INTEGER, { error: 'a number that can be held exactly' });
const bytes = shape.quantity({ unit: 'bytes', min: 0, max: 512 * 1024 * 1024 });
const oneOrMore = <Item extends z.ZodType>(item: Item, expected: string) =>
  z.union([item.transform((one) => [one]), z.array(item).min(1).max(MOST_ENTRIES)], { error: expected });

const argumentTest = shape
  .closed('a map of tests', {
    equals: oneOrMore(scalar, 'text, a number, true, false or null; or a list of them').optional(),
    glob: oneOrMore(patternOf('path'), 'a pattern, or a list of patterns').optional(),
    min: number.optional(),
    max: number.optional(),
    minBytes: bytes.optional(),
    maxBytes: bytes.optional(),
    present: shape.flag.optional(),
  })
  .refine((test) => Object.keys(test).length > 0, { error: 'at least one test' })
  .refine(({ min, max }) => min === undefined || max === undefined || min <= max, { error: '`min` up to `max`' })
  .refine((test) => test.present !== false || Object.keys(test).length === 1, {
    error: '`present: false` alone: what is absent passes no other test',
  });

export const anId = 'up to 64 letters, digits, dots, dashes and underscores';
export const ruleId = z.string({ error: anId }).regex(/^[A-Za-z0-9._-]{1,64}$/, { error: anId });

const mode = z.enum(modes as ['enforce', 'audit'], { error: 'enforce or audit' });

export const ruleShape = shape.closed('a map with `id` and `effect`', {
  id: ruleId,
  effect: shape.choice(['allow', 'deny']),
  mode: mode.optional(),
  who: whoShape.optional(),
  what: actionList.optional(),
  on: onShape.optional(),
  with: shape
    .closed('a map with `arguments`', {
      arguments: z.record(z.string(), argumentTest, { error: 'a map of tests, by argument' }),
    })
    .optional(),
  when: z.string({ error: 'a CEL expression' }).optional(),
});
export type RuleDraft = z.infer<typeof ruleShape>;

export const policyShape = shape.closed('a map with `rules`', {
  mode: mode.optional(),
  open: z.array(shape.choice(actions), { error: 'a list of actions' }).optional(),
  trustAnnotationsOf: names('names of backends'),
  groupsClaim: shape.oneLine.optional(),
  // Rules are validated separately: a mistake in one must not hide those in the others.
  rules: z
    .array(z.unknown(), { error: 'a list of rules; an empty one denies everything' })
    .max(MOST_RULES, { error: `at most ${MOST_RULES} rules` }),
});
