/** Streamable HTTP of 2026-07-28: headers that repeat the body, and what is left of sessions. */
import { metaKeys } from '../../../wire/vocabulary.ts';
import type { HttpPeer } from '../../peer/http.ts';
import { codeOf, type JsonObject, summary } from '../../peer/reply.ts';
import type { Alteration, Talk } from '../../talk.ts';
import {
  broken,
  type CheckVerdict,
  codes,
  expectError,
  expectRefusal,
  expectResult,
  expectStatus,
  type HttpCheck,
  held,
  modern,
  notApplicable,
  unless,
} from '../check.ts';
import { refusesBatch } from './http.ts';
import { accepted } from './http-legacy.ts';

const page = '2026-07-28/basic/transports/streamable-http';
const validation = `${page}#server-validation`;
const earlier = `${page}#earlier-streamable-http-revisions`;
const mismatch = { codes: [codes.headerMismatch], status: 400 };

interface MirrorRow {
  readonly id: string;
  readonly behaviour: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** A request with a name in it, for something that does not exist. */
  readonly isNamed?: true;
  readonly unlessDual?: true;
}

/** Headers that disagree with the body, or are missing. */
const mirrorRows: readonly MirrorRow[] = [
  {
    id: 'gateway:modern:header-mismatch#version',
    behaviour: 'An `MCP-Protocol-Version` other than the body’s is refused with 400 and -32020.',
    headers: { 'mcp-protocol-version': '2025-11-25' },
  },
  {
    id: 'gateway:modern:header-mismatch#method',
    behaviour: 'An `Mcp-Method` other than the body’s is refused with 400 and -32020.',
    headers: { 'mcp-method': 'tools/list' },
  },
  {
    id: 'gateway:modern:header-mismatch#name',
    behaviour: 'An `Mcp-Name` other than the body’s is refused with 400 and -32020.',
    headers: { 'mcp-name': 'another-name' },
    isNamed: true,
  },
  {
    id: 'gateway:modern:header-missing#version',
    behaviour: 'A request without `MCP-Protocol-Version` is refused with 400 and -32020.',
    headers: { 'mcp-protocol-version': undefined },
    unlessDual: true,
  },
  {
    id: 'gateway:modern:header-missing#method',
    behaviour: 'A request without `Mcp-Method` is refused with 400 and -32020.',
    headers: { 'mcp-method': undefined },
  },
  {
    id: 'gateway:modern:header-missing#name',
    behaviour: 'A request that needs `Mcp-Name` and has none is refused with 400 and -32020.',
    headers: { 'mcp-name': undefined },
    isNamed: true,
  },
];

const mirrorChecks = mirrorRows.map(
  ({ id, behaviour, headers, isNamed, unlessDual }): HttpCheck => ({
    ...{ id, behaviour, spec: validation, level: 'must', revisions: modern },
    run: async (talk, lab) => {
      if (unlessDual === true && lab.speaks('legacy'))
        return notApplicable('a server of both eras may take the request for one of 2025-03-26');
      if (isNamed !== true) return expectError(await talk.request('server/discover', {}, { headers }), mismatch);
      return ofNamed(talk, async (ask) => expectError(await ask({ headers }), mismatch));
    },
  }),
);

export const modernHttpChecks: readonly HttpCheck[] = [
  ...mirrorChecks,
  {
    id: 'gateway:modern:header-sentinel',
    behaviour: 'An `Mcp-Name` in Base64 is decoded before it is compared.',
    spec: `${page}#value-encoding`,
    level: 'must',
    revisions: modern,
    run: (talk) =>
      ofNamed(talk, async (ask, name) => {
        const reply = await ask({ headers: { 'mcp-name': `=?base64?${Buffer.from(name).toString('base64')}?=` } });
        return unless(codeOf(reply) === codes.headerMismatch && 'the encoded name is taken for another one', reply);
      }),
  },
  {
    id: 'gateway:modern:meta-missing#version',
    behaviour: 'A request without a version in `_meta` is refused with 400 and -32602.',
    spec: '2026-07-28/basic#_meta',
    level: 'must',
    revisions: modern,
    run: async (talk) => {
      const reply = await talk.request('tools/list', {}, { meta: { [metaKeys.protocolVersion]: undefined } });
      return expectError(reply, { codes: [codes.invalidParams], status: 400 });
    },
  },
  {
    id: 'hosting:http:modern:notification-post-202',
    behaviour: 'A notification is answered with 202 and an empty body, or with an error status.',
    spec: `${page}#sending-messages`,
    level: 'must',
    revisions: modern,
    run: async (talk) => accepted(await talk.notify('notifications/cancelled', { requestId: 'bascule-check' })),
  },
  {
    id: 'gateway:modern:response-400',
    behaviour: 'A JSON-RPC response as a body is refused.',
    spec: `${page}#sending-messages`,
    level: 'should',
    revisions: modern,
    run: async (talk) => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: 'bascule-check', result: {} });
      return expectRefusal(await talk.raw(text, undefined, 'server/discover'));
    },
  },
  {
    id: 'gateway:modern:batch-refused',
    behaviour: 'A batch is refused.',
    spec: `${page}#sending-messages`,
    level: 'should',
    revisions: modern,
    run: refusesBatch,
  },
  {
    id: 'hosting:http:modern:no-session-id',
    behaviour: 'No answer has an `Mcp-Session-Id`.',
    spec: earlier,
    level: 'should',
    revisions: modern,
    run: async (talk) => {
      const reply = await talk.request('server/discover');
      return unless(reply.http?.headers['mcp-session-id'] !== undefined && 'the answer has an `Mcp-Session-Id`', reply);
    },
  },
  {
    id: 'gateway:modern:session-headers-ignored',
    behaviour: '`Mcp-Session-Id` and `Last-Event-ID` of a request change nothing.',
    spec: earlier,
    level: 'should',
    revisions: modern,
    run: async (talk) => {
      const headers = { 'mcp-session-id': 'bascule-check-no-such-session', 'last-event-id': '1' };
      return expectResult(await talk.request('server/discover', {}, { headers }));
    },
  },
  {
    id: 'gateway:modern:get-delete-405',
    behaviour: 'GET and DELETE are refused with 405.',
    spec: earlier,
    level: 'should',
    revisions: modern,
    run: async (talk, lab) => {
      if (lab.speaks('legacy')) return notApplicable('the server has sessions of the legacy era');
      const headers = { 'mcp-protocol-version': talk.revision };
      const verdict = expectStatus(await talk.peer.get(headers), [405]);
      return verdict.outcome === 'held' ? expectStatus(await talk.peer.bare('DELETE', headers), [405]) : verdict;
    },
  },
  {
    id: 'gateway:http:no-buffering',
    behaviour: 'An event stream has the header `X-Accel-Buffering: no`.',
    spec: `${page}#receiving-messages`,
    level: 'should',
    revisions: modern,
    run: async (talk) => {
      const reply = await talk.request('subscriptions/listen', { notifications: {} }, { until: () => true });
      const { headers = {} } = reply.http ?? {};
      if (headers['content-type']?.startsWith('text/event-stream') !== true)
        return notApplicable(`there is no stream to look at (${summary(reply)})`);
      return headers['x-accel-buffering'] === 'no' ? held : broken(reply, '`X-Accel-Buffering` is missing');
    },
  },
];

/** Methods with a name in the body, in the order of preference, and something that does not exist. */
const named = [
  { capability: 'tools', method: 'tools/call', member: 'name', value: 'bascule-check-no-such-tool' },
  { capability: 'prompts', method: 'prompts/get', member: 'name', value: 'bascule-check-no-such-prompt' },
  { capability: 'resources', method: 'resources/read', member: 'uri', value: 'bascule-check://no/such/resource' },
] as const;

type AskNamed = (alteration: Alteration) => ReturnType<Talk['request']>;

function ofNamed(
  talk: Talk<HttpPeer>,
  run: (ask: AskNamed, name: string) => Promise<CheckVerdict>,
): Promise<CheckVerdict> {
  const row = named.find(({ capability }) => talk.capabilities[capability] !== undefined);
  if (row === undefined) return Promise.resolve(notApplicable('the server has nothing with a name'));
  const params: JsonObject = { [row.member]: row.value };
  return run((alteration) => talk.request(row.method, params, alteration), row.value);
}
