/** JSON-RPC: ids, unknown methods, and requests that cannot be served. */
import { metaKeys } from '../../../wire/vocabulary.ts';
import { codeOf, type PeerReply } from '../../peer/reply.ts';
import {
  all,
  broken,
  codes,
  expectError,
  expectRefusal,
  held,
  legacy,
  modern,
  type TalkCheck,
  unless,
} from '../check.ts';

const UNKNOWN_METHOD = 'example.invalid/unknown';

export const messageChecks: readonly TalkCheck[] = [
  {
    id: 'gateway:exchange:id-types',
    behaviour: 'The answer has the id of the request, as text where it was text.',
    spec: '2025-11-25/basic#responses',
    level: 'must',
    revisions: all,
    run: async (talk) => {
      const reply = await talk.request(talk.harmless, {}, { id: '7' });
      return unless(reply.answer?.id !== '7' && idsOf('"7"', reply), reply);
    },
  },
  {
    id: 'gateway:exchange:id-zero',
    behaviour: 'The id 0 is an id like any other.',
    spec: '2025-11-25/basic#requests',
    level: 'must',
    revisions: all,
    run: async (talk) => {
      const reply = await talk.request(talk.harmless, {}, { id: 0 });
      return unless(reply.answer?.id !== 0 && idsOf('0', reply), reply);
    },
  },
  {
    id: 'protocol:error:method-not-found',
    behaviour: 'An unknown method is answered with -32601.',
    spec: '2025-11-25/basic#error-responses',
    level: 'must',
    revisions: legacy,
    run: async (talk) => expectError(await talk.request(UNKNOWN_METHOD), { codes: [codes.methodNotFound] }),
  },
  {
    id: 'gateway:modern:method-404',
    behaviour: 'An unknown method is answered with -32601, over HTTP with status 404.',
    spec: '2026-07-28/basic/transports/streamable-http#protocol-version-header',
    level: 'must',
    revisions: modern,
    run: async (talk) =>
      expectError(await talk.request(UNKNOWN_METHOD), { codes: [codes.methodNotFound], status: 404 }),
  },
  {
    id: 'hosting:http:modern:removed-method-status-404',
    behaviour: 'A method that 2026-07-28 has removed, `ping`, is answered with -32601.',
    spec: '2026-07-28/changelog',
    level: 'should',
    revisions: modern,
    run: async (talk) => expectError(await talk.request('ping'), { codes: [codes.methodNotFound], status: 404 }),
  },
  {
    id: 'gateway:legacy:modern-method-refused',
    behaviour: 'A method that only 2026-07-28 has, `subscriptions/listen`, is answered with an error.',
    spec: '2025-11-25/basic/lifecycle#operation',
    level: 'should',
    revisions: legacy,
    run: async (talk) => {
      const reply = await talk.request('subscriptions/listen', { notifications: {} });
      return reply.answer?.error === undefined ? broken(reply) : held;
    },
  },
  {
    id: 'protocol:error:invalid-params',
    behaviour: '`tools/call` without a name is answered with -32602, or -32601 where there are no tools.',
    spec: '2025-11-25/server/tools#error-handling',
    level: 'should',
    revisions: all,
    run: async (talk) => {
      const reply = await talk.request('tools/call', {});
      // Over HTTP, a modern server notices the missing header first.
      return expectError(reply, { codes: [codes.invalidParams, codes.methodNotFound, codes.headerMismatch] });
    },
  },
  {
    id: 'gateway:json:null-id',
    behaviour: 'A request whose id is null is refused.',
    spec: '2025-11-25/basic#requests',
    level: 'should',
    revisions: all,
    run: async (talk) => {
      const text = talk.harmlessText(null);
      if (talk.peer.kind === 'http') return expectRefusal(await talk.raw(text, -1, talk.harmless));
      // A pipe may stay silent: whatever the message causes comes before the next answer.
      await talk.raw(text, undefined, talk.harmless);
      const next = await talk.request(talk.harmless);
      const isServed = next.others.some(({ id, result }) => id === null && result !== undefined);
      return unless(isServed && 'the request is answered', next);
    },
  },
  {
    id: 'gateway:modern:codes-mapped',
    behaviour: 'No error has a code that 2026-07-28 reserves without a meaning, or that it has retired.',
    spec: '2026-07-28/basic#error-codes',
    level: 'must',
    revisions: modern,
    run: async (talk) => {
      for (const { method, params } of failing) {
        const reply = await talk.request(method, params);
        const code = codeOf(reply);
        if (code !== undefined && isForbidden(code)) return broken(reply, `${method} is answered with ${code}`);
      }
      return held;
    },
  },
  {
    id: 'logging:per-request:invalid-level',
    behaviour: 'A request with an unknown log level is refused with -32602.',
    spec: '2026-07-28/server/utilities/logging#error-handling',
    level: 'should',
    revisions: modern,
    run: async (talk) => {
      if (talk.capabilities.logging === undefined)
        return { outcome: 'not-applicable', reason: 'the server does not declare `logging`' };
      const reply = await talk.request('server/discover', {}, { meta: { [metaKeys.logLevel]: 'loud' } });
      return expectError(reply, { codes: [codes.invalidParams] });
    },
  },
];

/** Requests for what does not exist. */
const failing = [
  { method: 'resources/read', params: { uri: 'bascule-check://no/such/resource' } },
  { method: 'prompts/get', params: { name: 'bascule-check-no-such-prompt' } },
  { method: 'tools/call', params: { name: 'bascule-check-no-such-tool', arguments: {} } },
  { method: UNKNOWN_METHOD, params: {} },
];

const defined: ReadonlySet<number> = new Set([-32020, -32021, -32022]);

/** -32020 to -32099 belong to the specification; -32002 and -32042 are of earlier versions. */
function isForbidden(code: number): boolean {
  return code === codes.resourceNotFound || (code <= -32020 && code >= -32099 && !defined.has(code));
}

function idsOf(asked: string, { answer, fault }: PeerReply): string {
  return `${asked} was asked, ${fault?.detail ?? `${JSON.stringify(answer?.id)} was answered`}`;
}
