/** Cases for `bascule policy test`: a request, and the expected decision. */
import * as z from 'zod';
import { findToolsRow } from '../budget/find-tools.ts';
import { keyPrincipal, localPrincipal, type Principal, tokenPrincipal } from '../identity/principal.ts';
import { actions, askKinds, FIND, RPC, type ThingKind, thingsOf } from '../policy/actions.ts';
import type { World } from '../policy/match.ts';
import type { Operation, PolicyQuestion } from '../policy/question.ts';
import { type RuleEffect, ruleEffects } from '../policy/rules.ts';
import { methods } from '../wire/methods.ts';
import type { ConfigDocument, Path } from './document.ts';
import { check } from './issues.ts';
import * as shape from './shapes.ts';

export interface PolicyCase {
  readonly name: string;
  readonly question: PolicyQuestion;
  readonly expect: RuleEffect;
  /** The rule that is expected to decide; null: none. */
  readonly rule?: string | null | undefined;
}

const text = z.string({ error: 'text' });
const aPrincipal = '`local`, or a map with `key`, `subject` or `clientId`';
const principalShape = shape.once(() =>
  z.union(
    [
      z.literal('local'),
      z.strictObject({
        key: text,
        scopes: z.array(text).exactOptional(),
        groups: z.array(text).exactOptional(),
      }),
      z
        .strictObject({
          subject: text.exactOptional(),
          clientId: text.exactOptional(),
          issuer: text.exactOptional(),
          scopes: z.array(text).exactOptional(),
          groups: z.array(text).exactOptional(),
          claims: z.record(z.string(), z.unknown()).exactOptional(),
        })
        .refine(({ subject, clientId }) => subject !== undefined || clientId !== undefined),
    ],
    { error: aPrincipal },
  ),
);

const questionParts = shape.once(() => ({
  principal: principalShape().exactOptional(),
  action: shape.choice(actions),
  endpoint: text.exactOptional(),
  backend: text.exactOptional(),
  tool: text.exactOptional(),
  prompt: text.exactOptional(),
  uri: text.exactOptional(),
  ask: shape.choice(askKinds).exactOptional(),
  method: text.exactOptional(),
  arguments: z
    .union([z.record(z.string(), z.unknown()), z.array(z.unknown())], { error: 'a map of arguments' })
    .exactOptional(),
  annotations: z.record(z.string(), z.unknown(), { error: 'a map of annotations' }).exactOptional(),
}));

/** A question to policy, as people write it. */
export const questionShape = shape.once(() => shape.closed('a map with `action`', questionParts()));
export type QuestionDraft = z.infer<ReturnType<typeof questionShape>>;

const caseShape = shape.once(() =>
  shape.closed('a map with `action` and `expect`', {
    name: text.exactOptional(),
    ...questionParts(),
    expect: shape.choice(ruleEffects),
    rule: z.union([text, z.null()], { error: 'the id of a rule, or null for none' }).exactOptional(),
  }),
);
type CaseDraft = z.infer<ReturnType<typeof caseShape>>;

const fileShape = shape.closed('a map with `cases`', { cases: z.array(z.unknown(), { error: 'a list of cases' }) });

export function readCases(document: ConfigDocument, world: World): readonly PolicyCase[] {
  const file = check(document, [], document.read([]), fileShape);
  return (file?.cases ?? []).flatMap((item, at): PolicyCase[] => {
    const path = ['cases', at];
    const draft = check(document, path, item, caseShape());
    return draft === undefined ? [] : [caseOf(document, path, draft, world)];
  });
}

function caseOf(document: ConfigDocument, path: Path, draft: CaseDraft, world: World): PolicyCase {
  const { name, expect, rule, ...asked } = draft;
  const question = questionOf(asked, world, ({ key, ...complaint }) =>
    document.report(key === undefined ? path : [...path, key], complaint),
  );
  const { thing } = question;
  return { name: name ?? [draft.action, thing?.name ?? ''].join(' ').trim(), question, expect, rule };
}

/** What is wrong with a question that has the right shape. `key`: the member that is wrong; absent: all of it. */
export interface QuestionFault {
  readonly key?: string;
  readonly message: string;
  readonly expected?: string;
}

export function questionOf(draft: QuestionDraft, world: World, report: (fault: QuestionFault) => void): PolicyQuestion {
  const { action, endpoint = world.endpoints[0] ?? '', backend = soleBackend(world) } = draft;
  const wrong = (key: string, known: readonly string[], given: string) =>
    report({ key, message: `there is no ${key} \`${given}\``, expected: `one of: ${known.join(', ')}` });
  if (!world.endpoints.includes(endpoint)) wrong('endpoint', world.endpoints, endpoint);
  if (backend !== '' && !world.backends.includes(backend)) wrong('backend', world.backends, backend);
  const named = (['tool', 'prompt', 'uri', 'ask', 'method'] as const).filter((key) => draft[key] !== undefined);
  const [key] = named;
  const kind = key && kinds[key];
  if (named.length > 1 || (kind !== undefined && !thingsOf(action).includes(kind))) {
    report({ message: `a case of \`${action}\` must name exactly one item that the action applies to` });
  }
  return {
    principal: principalOf(draft.principal),
    row: rowOf(action, draft.ask),
    endpoint,
    backend,
    thing: kind === undefined ? undefined : { kind, name: key && draft[key] },
    arguments: () => draft.arguments,
    annotations: () => draft.annotations,
  };
}

const kinds: Readonly<Record<'tool' | 'prompt' | 'uri' | 'ask' | 'method', ThingKind>> = {
  tool: 'tool',
  prompt: 'prompt',
  uri: 'resource',
  ask: 'ask',
  method: 'method',
};

/** The default if there is only one. */
function soleBackend({ backends }: World): string {
  return backends.length === 1 ? (backends[0] ?? '') : '';
}

function rowOf(action: string, ask: string | undefined): Operation {
  if (action === RPC) return { method: '', kind: 'request', action };
  if (action === FIND) return findToolsRow;
  const rows = methods.filter((row) => row.action === action);
  return rows.find(({ method }) => ask !== undefined && method.startsWith(ask)) ?? rows[0]!;
}

function principalOf(draft: QuestionDraft['principal']): Principal {
  if (draft === undefined || draft === 'local') return localPrincipal();
  if ('key' in draft)
    return keyPrincipal({ id: 'case', name: draft.key, scopes: draft.scopes ?? [], groups: draft.groups });
  const { subject, clientId, issuer = 'https://issuer.example', scopes, groups, claims = {} } = draft;
  const said = { sub: subject, client_id: clientId, scope: scopes?.join(' '), groups };
  const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  // The shape requires `subject` or `clientId`, by which a token identifies a principal.
  return tokenPrincipal({ issuer, claims: { ...claims, ...given } }) ?? localPrincipal(new Set());
}
