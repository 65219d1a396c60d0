/** Streamable HTTP of the legacy era: sessions, notifications, streams, the version header, and batches. */
import { hasBatches } from '../../../wire/revisions.ts';
import type { HttpPeer } from '../../peer/http.ts';
import { type PeerReply, summary } from '../../peer/reply.ts';
import type { Talk } from '../../talk.ts';
import {
  broken,
  type CheckVerdict,
  expectResult,
  expectStatus,
  type HttpCheck,
  held,
  legacy,
  notApplicable,
  notTested,
  unless,
  withVersionHeader,
} from '../check.ts';
import type { Lab } from '../lab.ts';
import { refusesBatch, sendBatch } from './http.ts';

const sessions = '2025-11-25/basic/transports#session-management';
const sending = '2025-11-25/basic/transports#sending-messages-to-the-server';
const noSession = notApplicable('the server keeps no sessions');

export const legacyHttpChecks: readonly HttpCheck[] = [
  {
    id: 'hosting:session:id-charset',
    behaviour: 'The session id has visible ASCII characters alone, and no two sessions have the same.',
    spec: sessions,
    level: 'must',
    revisions: legacy,
    run: (talk, lab) =>
      withSession(talk, lab, async (own, reply) =>
        unless(own.session === talk.session && 'two sessions have the same id', reply),
      ),
  },
  {
    id: 'hosting:session:unknown-id',
    behaviour: 'A session id that the server does not know is answered with 404.',
    spec: sessions,
    level: 'must',
    revisions: legacy,
    run: async (talk) => {
      if (talk.session === undefined) return noSession;
      const headers = { 'mcp-session-id': 'bascule-check-no-such-session' };
      return expectStatus(await talk.request('ping', {}, { headers }), [404]);
    },
  },
  {
    id: 'hosting:session:missing-id',
    behaviour: 'A request without the session id is refused with 400.',
    spec: sessions,
    level: 'should',
    revisions: legacy,
    run: async (talk) => {
      if (talk.session === undefined) return noSession;
      return expectStatus(await talk.request('tools/list', {}, { headers: { 'mcp-session-id': undefined } }), [400]);
    },
  },
  {
    id: 'hosting:session:reuse',
    behaviour: 'The session that `initialize` opened serves the requests that follow.',
    spec: sessions,
    level: 'must',
    revisions: legacy,
    run: (talk, lab) => withSession(talk, lab, async (own) => expectResult(await own.request('ping'))),
  },
  {
    id: 'hosting:session:delete',
    behaviour: 'DELETE ends the session, or is refused with 405.',
    spec: sessions,
    level: 'must',
    revisions: legacy,
    run: (talk, lab) =>
      withSession(talk, lab, async ({ peer, headers }) =>
        expectStatus(await peer.bare('DELETE', headers), [200, 202, 204, 405]),
      ),
  },
  {
    id: 'hosting:session:post-termination-404',
    behaviour: 'A session that was ended is answered with 404.',
    spec: sessions,
    level: 'must',
    revisions: legacy,
    run: (talk, lab) =>
      withSession(talk, lab, async (own) => {
        const ended = await own.peer.bare('DELETE', own.headers);
        if (ended.http?.status === 405) return notApplicable('clients may not end sessions (405)');
        return expectStatus(await own.request('ping'), [404]);
      }),
  },
  {
    id: 'hosting:http:notifications-202',
    behaviour: 'A notification is answered with 202 and an empty body.',
    spec: sending,
    level: 'must',
    revisions: legacy,
    run: async (talk) => accepted(await talk.notify('notifications/cancelled', { requestId: 'bascule-check' })),
  },
  {
    id: 'gateway:legacy:response-unasked',
    behaviour: 'A response is answered with 202 and an empty body, or with an error status.',
    spec: sending,
    level: 'must',
    revisions: legacy,
    run: async (talk) => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: 'bascule-check', result: {} });
      return accepted(await talk.raw(text, undefined));
    },
  },
  {
    id: 'hosting:http:standalone-sse',
    behaviour: 'GET opens an event stream, or is refused with 405.',
    spec: '2025-11-25/basic/transports#listening-for-messages-from-the-server',
    level: 'must',
    revisions: legacy,
    run: async ({ peer, headers }) => {
      const reply = await peer.get(headers);
      const { status, headers: given = {} } = reply.http ?? {};
      const isStream = status === 200 && given['content-type']?.startsWith('text/event-stream') === true;
      return isStream || status === 405 ? held : broken(reply, `${summary(reply)}; expected a stream or 405`);
    },
  },
  {
    id: 'hosting:http:protocol-version-400',
    behaviour: 'An unknown version in `MCP-Protocol-Version` is refused with 400.',
    spec: '2025-11-25/basic/transports#protocol-version-header',
    level: 'must',
    revisions: withVersionHeader,
    run: async (talk) =>
      expectStatus(await talk.request('ping', {}, { headers: { 'mcp-protocol-version': '1900-01-01' } }), [400]),
  },
  {
    id: 'hosting:http:protocol-version-default',
    behaviour: 'A request without `MCP-Protocol-Version` is served.',
    spec: '2025-11-25/basic/transports#protocol-version-header',
    level: 'should',
    revisions: withVersionHeader,
    run: async (talk) =>
      expectResult(await talk.request('ping', {}, { headers: { 'mcp-protocol-version': undefined } })),
  },
  {
    id: 'gateway:legacy:batch-refused',
    behaviour: 'A batch is refused: the revision has none.',
    spec: '2025-06-18/changelog#major-changes',
    level: 'should',
    revisions: withVersionHeader,
    run: refusesBatch,
  },
  {
    id: 'hosting:http:batch',
    behaviour: 'In 2025-03-26, every request of a batch is answered.',
    spec: '2025-03-26/basic#batching',
    level: 'must',
    revisions: legacy,
    run: async (_talk, lab) => {
      const opening = await lab.session('2025-03-26');
      if ('finding' in opening) return notTested(opening.detail);
      const { talk } = opening;
      if (talk === undefined || !hasBatches(talk.revision)) return notApplicable('the server has no 2025-03-26');
      const { reply, answered } = await sendBatch(talk);
      return unless(answered < 2 && `${answered} of 2 requests are answered: ${summary(reply)}`, reply);
    },
  },
];

/** 202 and nothing else, or a refusal: a client would take any other status for something to read. */
export function accepted(reply: PeerReply): CheckVerdict {
  const { status = 0, body = '' } = reply.http ?? {};
  if (status >= 400) return held;
  if (status !== 202) return broken(reply, `${summary(reply)}; expected 202`);
  return unless(body !== '' && 'the 202 has a body', reply);
}

async function withSession(
  talk: Talk,
  lab: Lab,
  run: (own: Talk<HttpPeer>, reply: PeerReply) => Promise<CheckVerdict>,
): Promise<CheckVerdict> {
  if (talk.session === undefined) return noSession;
  const opening = await lab.session();
  if ('finding' in opening) return notTested(opening.detail);
  const own = opening.talk as Talk<HttpPeer> | undefined;
  return own === undefined ? notTested('a second session could not be opened') : run(own, opening.reply);
}
