/** Capabilities agree with what is answered: what is declared is there, and what is there is declared. */
import { codeOf, type JsonObject, objectIn, type PeerReply, summary } from '../../peer/reply.ts';
import type { Talk } from '../../talk.ts';
import {
  all,
  broken,
  type CheckVerdict,
  codes,
  expectError,
  held,
  legacy,
  notApplicable,
  type TalkCheck,
} from '../check.ts';

interface DeclaredRow {
  readonly id: string;
  readonly capability: string;
  readonly spec: string;
  readonly revisions: TalkCheck['revisions'];
  readonly method: string;
  readonly params: JsonObject;
  /** Whether the request is answered with a result where the capability is there. */
  readonly hasResult: boolean;
}

const declared: readonly DeclaredRow[] = [
  ...(['tools', 'prompts', 'resources'] as const).map((capability) => ({
    id: `${capability}:capability:declared`,
    capability,
    spec: `2025-11-25/server/${capability}#capabilities`,
    revisions: all,
    method: `${capability}/list`,
    params: {},
    hasResult: true,
  })),
  {
    id: 'logging:capability:declared',
    capability: 'logging',
    spec: '2025-11-25/server/utilities/logging#capabilities',
    revisions: legacy,
    method: 'logging/setLevel',
    params: { level: 'error' },
    hasResult: true,
  },
  {
    id: 'completion:capability:declared',
    capability: 'completions',
    spec: '2025-11-25/server/utilities/completion#capabilities',
    revisions: all.filter((revision) => revision !== '2024-11-05'),
    method: 'completion/complete',
    params: { ref: { type: 'ref/prompt', name: 'bascule-check-no-such-prompt' }, argument: { name: 'a', value: '' } },
    hasResult: false,
  },
];

const declaredChecks = declared.map(
  ({ id, capability, spec, revisions, method, params, hasResult }): TalkCheck => ({
    id,
    behaviour: `\`${method}\` is answered if \`${capability}\` is declared, and offers nothing otherwise.`,
    spec,
    level: 'must',
    revisions,
    run: async (talk) => agrees(await talk.request(method, params), talk.capabilities[capability], hasResult),
  }),
);

function agrees(reply: PeerReply, capability: unknown, hasResult: boolean): CheckVerdict {
  const isAnswered = reply.answer?.result !== undefined;
  if (capability === undefined)
    return isAnswered && !isEmpty(reply.answer?.result)
      ? broken(reply, 'it is answered, and the capability is not declared')
      : held;
  const isMissing = hasResult ? !isAnswered : codeOf(reply) === codes.methodNotFound || reply.fault !== undefined;
  return isMissing ? broken(reply, `the capability is declared, and the answer is ${summary(reply)}`) : held;
}

/** Some libraries answer every list with an empty one: nothing is offered that was not declared. */
function isEmpty(result: JsonObject = {}): boolean {
  const lists = Object.values({ ...result, ...objectIn(result.completion) }).filter(Array.isArray);
  return lists.length > 0 && lists.every(({ length }) => length === 0);
}

export const capabilityChecks: readonly TalkCheck[] = [
  ...declaredChecks,
  {
    id: 'logging:set-level:invalid-level',
    behaviour: 'An unknown log level is refused with -32602.',
    spec: '2025-11-25/server/utilities/logging#error-handling',
    level: 'should',
    revisions: legacy,
    run: async (talk) => {
      if (talk.capabilities.logging === undefined) return notApplicable('the server does not declare `logging`');
      return expectError(await talk.request('logging/setLevel', { level: 'loud' }), { codes: [codes.invalidParams] });
    },
  },
  {
    id: 'resources:subscribe:capability-required',
    behaviour: '`resources/subscribe` is not answered with a result unless `resources.subscribe` is declared.',
    spec: '2025-11-25/server/resources#capabilities',
    level: 'must',
    revisions: legacy,
    run: async (talk) => {
      if (canSubscribe(talk)) return notApplicable('the server declares `resources.subscribe`');
      const reply = await talk.request('resources/subscribe', { uri: 'bascule-check://no/such/resource' });
      return reply.answer?.result === undefined ? held : broken(reply);
    },
  },
];

function canSubscribe({ capabilities }: Talk): boolean {
  return (capabilities.resources as JsonObject | undefined)?.subscribe === true;
}
