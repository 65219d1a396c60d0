/** The shape of `policy.decisions`, and what has to hold beyond it. */
import * as z from 'zod';
import { type DecisionPointSettings, outsideActions, type ProtocolSettings } from '../decisions/settings.ts';
import { checkHeaders } from './backends.ts';
import type { ConfigDocument, Path } from './document.ts';
import { check } from './issues.ts';
import { approvalParts, listOf, ruleId } from './policy-shapes.ts';
import * as shape from './shapes.ts';

/** A person waits for the call. */
const TIMEOUT_MS = 2_000;
const CONCURRENT = 64;
const MOST_POINTS = 16;

const protocols = ['authzen', 'opa', 'webhook'] as const;

/** A question has claims and arguments in it: it leaves the machine encrypted, or not at all. */
const pointAddress = shape.httpAddress.refine((text) => isGuarded(text), {
  error: 'an https:// address; http:// only for this machine: localhost, 127.0.0.1 or [::1]',
});

function isGuarded(text: string): boolean {
  const url = shape.parseUrl(text);
  return url?.protocol === 'https:' || /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url?.hostname ?? '');
}

const pointShape = shape.once(() =>
  shape
    .closed('a map with `name` and one of `authzen`, `opa`, `webhook`', {
      name: ruleId,
      authzen: pointAddress.exactOptional(),
      opa: pointAddress.exactOptional(),
      webhook: pointAddress.exactOptional(),
      secret: z.string({ error: 'text' }).min(16, { error: 'a secret of at least 16 characters' }).exactOptional(),
      lists: z
        .union([shape.flag, pointAddress], { error: 'true, false, or the address of a rule of OPA' })
        .exactOptional(),
      what: listOf(shape.choice(outsideActions), 'actions').default([...outsideActions]),
      mode: shape.choice(['enforce', 'audit']).default('enforce'),
      onFailure: shape.choice(['deny', 'allow']).default('deny'),
      timeoutMs: shape.quantity({ unit: 'ms', min: 10, max: 30_000 }).default(TIMEOUT_MS),
      concurrent: shape.quantity({ unit: 'count', min: 1, max: 1_024 }).default(CONCURRENT),
      headers: shape.headerMap.default({}),
      claims: z.array(shape.oneLine, { error: 'a list of claims, or `*`' }).default([]),
      arguments: shape.flag.default(false),
      approval: shape.closed('a map with `by`', approvalParts()).exactOptional(),
    })
    .refine((given) => protocols.filter((name) => given[name] !== undefined).length === 1, {
      error: 'exactly one of `authzen`, `opa` and `webhook`',
    }),
);
type PointDraft = z.infer<ReturnType<typeof pointShape>>;

export function readDecisions(
  document: ConfigDocument,
  path: Path,
  value: unknown,
): readonly DecisionPointSettings[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length > MOST_POINTS) {
    document.report(path, {
      message: '`decisions` is not a list',
      expected: `a list of at most ${MOST_POINTS} decision points`,
    });
    return undefined;
  }
  const names = new Set<string>();
  return value.flatMap((item, at): DecisionPointSettings[] => {
    const here = [...path, at];
    const draft = check(document, here, item, pointShape());
    if (draft === undefined) return [];
    if (names.has(draft.name)) {
      const message = `another decision point has the name \`${draft.name}\` already`;
      document.report([...here, 'name'], { message, expected: 'a unique name: audit records and errors refer to it' });
    }
    names.add(draft.name);
    checkHeaders(document, [...here, 'headers'], draft.headers);
    checkMeaning(document, here, draft);
    return [pointOf(draft)];
  });
}

function checkMeaning(document: ConfigDocument, path: Path, draft: PointDraft): void {
  if (draft.approval !== undefined && draft.approval.by === undefined)
    document.report([...path, 'approval'], {
      message: 'it does not say who approves',
      expected: '`by: caller` or `by: other`',
    });
  if (draft.webhook === undefined && draft.secret !== undefined)
    document.reportMeaningless([...path, 'secret'], 'for a `webhook`');
  if (draft.webhook !== undefined && draft.lists !== undefined && draft.lists !== false)
    document.reportMeaningless([...path, 'lists'], 'for `authzen` and `opa`: a webhook has no question about lists');
  if (draft.opa !== undefined && draft.lists === true)
    document.report([...path, 'lists'], {
      message: 'OPA answers about lists by another rule',
      expected: 'the address of that rule',
    });
  if (draft.authzen !== undefined && typeof draft.lists === 'string')
    document.report([...path, 'lists'], { message: 'AuthZEN has one address for lists', expected: 'true or false' });
}

function pointOf(draft: PointDraft): DecisionPointSettings {
  const { name, what, mode, onFailure, timeoutMs, concurrent, headers, claims, arguments: sent } = draft;
  const own = { name, what, mode, onFailure, timeoutMs, concurrent, headers, claims, arguments: sent };
  const lists = draft.lists ?? draft.authzen !== undefined;
  return { ...own, protocol: protocolOf(draft), lists: lists !== false, ...approvalOf(draft) };
}

function approvalOf({ approval }: PointDraft): Pick<DecisionPointSettings, 'approval'> {
  if (approval?.by === undefined) return {};
  return { approval: { by: approval.by, ...(approval.for !== undefined && { forMs: approval.for }) } };
}

function protocolOf({ authzen, opa, webhook = '', lists, secret }: PointDraft): ProtocolSettings {
  if (authzen !== undefined) return { kind: 'authzen', url: authzen };
  if (opa !== undefined) return { kind: 'opa', url: opa, ...(typeof lists === 'string' && { lists }) };
  return { kind: 'webhook', url: webhook, ...(secret !== undefined && { secret }) };
}
