/** Streamable HTTP of the legacy era: event ids, and streams that are resumed with `Last-Event-ID`. */
import { SseReader } from '../../../wire/sse.ts';
import type { HttpPeer } from '../../peer/http.ts';
import { readLimits } from '../../peer/peer.ts';
import { answerIn, objectIn, type PeerReply, parsed, summary } from '../../peer/reply.ts';
import type { Talk } from '../../talk.ts';
import { broken, type CheckVerdict, type HttpCheck, held, legacy, notApplicable, unless } from '../check.ts';

const resuming = '2025-11-25/basic/transports#resumability-and-redelivery';

export const resumptionChecks: readonly HttpCheck[] = [
  {
    id: 'hosting:resume:bad-event-id',
    behaviour: 'GET with a `Last-Event-ID` that the server does not know is refused with 4xx, or opens a stream.',
    spec: resuming,
    level: 'should',
    revisions: legacy,
    run: async ({ peer, headers }) => {
      const reply = await peer.get({ ...headers, 'last-event-id': 'bascule-check-no-such-event' });
      const status = reply.http?.status ?? 0;
      const isRefused = status >= 400 && status < 500;
      return isRefused || isStream(reply) ? held : broken(reply, `${summary(reply)}; expected HTTP 400 or a stream`);
    },
  },
  {
    id: 'hosting:resume:event-ids',
    behaviour: 'No two events of a session have the same id.',
    spec: resuming,
    level: 'must',
    revisions: legacy,
    run: async (talk) => {
      const [first, second] = [await talk.request('ping'), await talk.request('ping')];
      const [some, more] = [idsIn(first), idsIn(second)];
      if (some.length === 0) return noIds;
      const all = [...some, ...more];
      const repeated = all.find((id, at) => all.indexOf(id) !== at);
      return unless(repeated !== undefined && `the id ${JSON.stringify(repeated)} comes twice`, second);
    },
  },
  {
    id: 'hosting:resume:replay',
    behaviour: 'A stream that is resumed after one of its events has the events that followed.',
    spec: resuming,
    level: 'should',
    revisions: legacy,
    run: (talk) =>
      resumed(talk, ({ again, answered }) =>
        unless(!answersIn(again).includes(answered) && 'the answer does not come again', again),
      ),
  },
  {
    id: 'hosting:resume:stream-scoped',
    behaviour: 'A stream that is resumed has nothing of another stream.',
    spec: resuming,
    level: 'must',
    revisions: legacy,
    run: (talk) =>
      resumed(talk, ({ again, other }) =>
        unless(answersIn(again).includes(other) && 'the answer to another request comes on it', again),
      ),
  },
];

const noIds = notApplicable('the server gives its events no ids, or answers with JSON');

interface Resumed {
  /** The response to GET. */
  readonly again: PeerReply;
  /** The ids of the request whose stream is resumed, and of one with another stream. */
  readonly answered: unknown;
  readonly other: unknown;
}

async function resumed(talk: Talk<HttpPeer>, judge: (seen: Resumed) => CheckVerdict): Promise<CheckVerdict> {
  const { peer, headers } = talk;
  const answered = talk.nextId();
  const [before, last] = idsIn(await talk.request('ping', {}, { id: answered }));
  if (before === undefined) return noIds;
  // After the last event, there is nothing to have again.
  if (last === undefined) return notApplicable('the answer is the only event of its stream with an id');
  const other = talk.nextId();
  await talk.request('ping', {}, { id: other });
  const again = await peer.resume({ ...headers, 'last-event-id': before }, answered);
  if (!isStream(again)) return notApplicable(`the server resumes no streams (${summary(again)})`);
  return judge({ again, answered, other });
}

function isStream({ http }: PeerReply): boolean {
  return http?.status === 200 && http.headers['content-type']?.startsWith('text/event-stream') === true;
}

function eventsIn({ http }: PeerReply): ReturnType<SseReader['push']> {
  return new SseReader({ eventBytes: readLimits.bytes }).push(Buffer.from(http?.body ?? ''));
}

/** None where the response is no stream. */
function idsIn(reply: PeerReply): readonly string[] {
  return isStream(reply) ? eventsIn(reply).flatMap(({ id }) => (id === undefined || id === '' ? [] : [id])) : [];
}

/** The ids of all responses on a stream. */
function answersIn(reply: PeerReply): readonly unknown[] {
  return eventsIn(reply).flatMap(({ data }) => {
    const message = objectIn(parsed(Buffer.from(data ?? []).toString())?.value);
    const answer = message && answerIn(message);
    return answer === undefined ? [] : [answer.id];
  });
}
