/** Streamable HTTP in both eras: media types, origins, and bodies that are no messages. */
import { type PeerReply, parsed, summary } from '../../peer/reply.ts';
import type { Talk } from '../../talk.ts';
import {
  all,
  broken,
  type CheckVerdict,
  codes,
  expectError,
  expectRefusal,
  expectStatus,
  type HttpCheck,
  held,
  unless,
} from '../check.ts';

export const httpChecks: readonly HttpCheck[] = [
  {
    id: 'hosting:http:json-response-mode',
    behaviour: 'A request is answered in `application/json` or `text/event-stream`.',
    spec: '2025-11-25/basic/transports#sending-messages-to-the-server',
    level: 'must',
    revisions: all,
    run: async (talk) => {
      const reply = await talk.request(talk.harmless);
      const type = reply.http?.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
      const isRight = type === 'application/json' || type === 'text/event-stream';
      return isRight ? held : broken(reply, `the media type is ${type ?? 'missing'}`);
    },
  },
  {
    id: 'transport:streamable-http:origin-validation',
    behaviour: 'A request with a foreign `Origin` is refused with 403.',
    spec: '2025-11-25/basic/transports#security-warning',
    level: 'must',
    revisions: all,
    run: async (talk) => {
      const headers = { origin: 'http://bascule-check.invalid' };
      const reply = await talk.request(talk.harmless, {}, { headers });
      // Before 2025-11-25 the status was not defined.
      if (talk.revision >= '2025-11-25') return expectStatus(reply, [403]);
      const status = reply.http?.status ?? 0;
      return unless((status < 400 || status > 499) && `${summary(reply)}; expected a refusal`, reply);
    },
  },
  {
    id: 'hosting:http:parse-error-400',
    behaviour: 'A body that is no JSON is refused with an error status, and a JSON-RPC error for it is -32700.',
    spec: '2025-11-25/basic#messages',
    level: 'must',
    revisions: all,
    run: async (talk) => {
      const reply = await talk.raw('{"jsonrpc": "2.0",', -1, talk.harmless);
      if (reply.answer !== undefined) return expectError(reply, { codes: [codes.parse] });
      const status = reply.http?.status ?? 0;
      return unless((status < 400 || status > 499) && `${summary(reply)}; expected HTTP 400`, reply);
    },
  },
  {
    id: 'gateway:json:unknown-shape',
    behaviour: 'JSON that is no JSON-RPC message is refused with 400.',
    spec: '2025-11-25/basic#messages',
    level: 'should',
    revisions: all,
    run: async (talk) => expectStatus(await talk.raw('{"hello":"world"}', -1, talk.harmless), [400]),
  },
  {
    id: 'gateway:gates:id-absent',
    behaviour: 'An error for a body without an id has no `id`, and not `id: null`.',
    spec: '2026-07-28/basic#error-responses',
    level: 'should',
    revisions: ['2025-11-25', '2026-07-28'],
    run: async (talk) => {
      const reply = await talk.raw('{"jsonrpc": "2.0",', -1, talk.harmless);
      return unless(reply.answer?.id === null && 'the error has `"id": null`', reply);
    },
  },
  {
    id: 'hosting:http:content-type-415',
    behaviour: 'A body of another media type than JSON is refused with 415.',
    spec: 'https://datatracker.ietf.org/doc/html/rfc9110#section-15.5.16',
    level: 'should',
    revisions: all,
    run: (talk) => withHeader(talk, { 'content-type': 'text/plain' }, (reply) => expectStatus(reply, [415])),
  },
  {
    id: 'hosting:http:accept-406',
    behaviour: 'A client that accepts neither JSON nor event streams is refused with 406.',
    spec: 'https://datatracker.ietf.org/doc/html/rfc9110#section-15.5.7',
    level: 'should',
    revisions: all,
    run: (talk) => withHeader(talk, { accept: 'text/html' }, (reply) => expectStatus(reply, [406])),
  },
  {
    id: 'hosting:http:method-405',
    behaviour: 'An HTTP method that the endpoint does not have is refused with 405.',
    spec: 'https://datatracker.ietf.org/doc/html/rfc9110#section-15.5.6',
    level: 'should',
    revisions: all,
    run: async ({ peer, headers }) => expectStatus(await peer.bare('PUT', headers), [405]),
  },
];

async function withHeader(
  talk: Talk,
  headers: Readonly<Record<string, string>>,
  judge: (reply: PeerReply) => CheckVerdict,
): Promise<CheckVerdict> {
  const id = talk.nextId();
  return judge(await talk.raw(talk.harmlessText(id), id, talk.harmless, headers));
}

/** A batch of two requests, and how it is answered. */
export async function sendBatch(talk: Talk): Promise<{ readonly reply: PeerReply; readonly answered: number }> {
  const ids = [talk.nextId(), talk.nextId()];
  const text = `[${ids.map((id) => talk.harmlessText(id)).join(',')}]`;
  // Read to its end: the answers may come in any order.
  const reply = await talk.raw(text, undefined, talk.harmless);
  const body = parsed(reply.http?.body ?? '')?.value;
  const inArray = Array.isArray(body) ? body.filter((one) => one?.result !== undefined).length : 0;
  // In a stream, the answers are events; the last one of them may be an array, too.
  const inStream = (reply.http?.body.match(/"result"/g) ?? []).length;
  return { reply, answered: Math.max(inArray, inStream) };
}

/** For revisions without batches. */
export async function refusesBatch(talk: Talk): Promise<CheckVerdict> {
  const { reply, answered } = await sendBatch(talk);
  return answered > 0 ? broken(reply, `${answered} requests of the batch are answered`) : expectRefusal(reply);
}
