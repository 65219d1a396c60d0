/** HTTP+SSE of 2024-11-05: the stream, its first event, and the address for POSTs. */
import { HttpPeer, type HttpPeerOptions } from '../../peer/http.ts';
import type { PeerFault, PeerReply } from '../../peer/reply.ts';
import { summary } from '../../peer/reply.ts';
import { SsePeer } from '../../peer/sse.ts';
import { type Opening, openLegacy, type Talk } from '../../talk.ts';
import {
  broken,
  type CheckRow,
  type CheckVerdict,
  expectResult,
  expectStatus,
  held,
  notTested,
  unless,
} from '../check.ts';

const transport = '2024-11-05/basic/transports#http-with-sse';
const row = { spec: transport, revisions: ['2024-11-05'] } as const;
const foreign = { origin: 'http://bascule-check.invalid' };

/** A check of a server that speaks HTTP+SSE, or tries to. */
interface SseCheck extends CheckRow {
  run(older: OlderServer): Promise<CheckVerdict>;
}

/** What answers GET with an event stream, and POST at the same address with no message. */
export class OlderServer {
  readonly options: HttpPeerOptions;
  /** The response to GET, up to its headers. */
  readonly stream: PeerReply;
  readonly peer: SsePeer | PeerFault;
  readonly opening: Opening<SsePeer> | undefined;

  /** Undefined where GET opens no stream. */
  static async meet(options: HttpPeerOptions): Promise<OlderServer | undefined> {
    const stream = await new HttpPeer(options).get({});
    const { status, headers = {} } = stream.http ?? {};
    if (status !== 200 || headers['content-type']?.startsWith('text/event-stream') !== true) return undefined;
    const peer = await SsePeer.open(options);
    const opening = 'finding' in peer ? undefined : await openLegacy(peer, '2024-11-05');
    return new OlderServer(options, stream, peer, opening);
  }

  private constructor(
    options: HttpPeerOptions,
    stream: PeerReply,
    peer: SsePeer | PeerFault,
    opening: Opening<SsePeer> | undefined,
  ) {
    this.options = options;
    this.stream = stream;
    this.peer = peer;
    this.opening = opening;
  }

  async close(): Promise<void> {
    if (!('finding' in this.peer)) await this.peer.close();
  }
}

export const sseChecks: readonly SseCheck[] = [
  {
    ...row,
    id: 'transport:sse:endpoint-event',
    behaviour: 'The stream names the address for POSTs in an event `endpoint`, before everything else.',
    level: 'must',
    run: async ({ peer, stream }) => {
      if ('finding' in peer) return broken(stream, peer.detail);
      return unless(peer.firstEvent !== 'endpoint' && `the first event is \`${peer.firstEvent}\``, stream);
    },
  },
  {
    ...row,
    id: 'transport:sse#answers',
    behaviour: '`initialize` and the requests after it are answered on the stream, in events `message`.',
    level: 'must',
    run: async ({ opening }) => {
      if (opening === undefined) return noAddress;
      if (opening.talk === undefined) return broken(opening.reply, opening.fault?.detail);
      return expectResult(await opening.talk.request('ping'));
    },
  },
  {
    ...row,
    id: 'transport:sse#accepted',
    behaviour: 'A POST is answered with 202.',
    level: 'should',
    run: (older) => ofTalk(older, async (talk) => expectStatus(await talk.request('ping'), [202])),
  },
  {
    ...row,
    id: 'transport:sse:post:session-routing#apart',
    behaviour: 'Two streams have different addresses, and each gets the answers to its own requests.',
    level: 'must',
    run: (older) =>
      ofTalk(older, async (talk) => {
        const second = await SsePeer.open(older.options);
        if ('finding' in second) return notTested(`a second stream could not be opened: ${second.detail}`);
        try {
          if (second.endpoint === talk.peer.endpoint) return broken(older.stream, 'both have the same address');
          const opened = await openLegacy(second, '2024-11-05');
          return expectResult((await opened.talk?.request('ping')) ?? opened.reply);
        } finally {
          await second.close();
        }
      }),
  },
  {
    ...row,
    id: 'transport:sse:post:session-routing#unknown',
    behaviour: 'A POST for a session that does not exist is refused with 4xx.',
    level: 'should',
    run: (older) =>
      ofTalk(older, async ({ peer }) => {
        const address = new URL(peer.endpoint);
        // Servers name the session in the query or in the path.
        if (address.search === '') address.pathname = `${address.pathname}-bascule-check`;
        for (const name of [...address.searchParams.keys()]) address.searchParams.set(name, 'bascule-check-no-such-id');
        return refused(await new HttpPeer({ ...older.options, url: address.href }).send(pingText));
      }),
  },
  {
    ...row,
    id: 'transport:streamable-http:origin-validation#sse',
    behaviour: 'GET and POST with a foreign `Origin` are refused.',
    spec: '2024-11-05/basic/transports#security-warning',
    level: 'must',
    run: (older) =>
      ofTalk(older, async ({ peer }) => {
        const got = refused(await new HttpPeer(older.options).get(foreign));
        if (got.outcome === 'broken') return got;
        const poster = new HttpPeer({ ...older.options, url: peer.endpoint });
        return refused(await poster.send(pingText, { headers: foreign }));
      }),
  },
];

const noAddress = notTested('the stream names no address for POSTs');
const pingText = JSON.stringify({ jsonrpc: '2.0', id: 'bascule-check', method: 'ping' });

async function ofTalk(
  { opening }: OlderServer,
  run: (talk: Talk<SsePeer>) => Promise<CheckVerdict>,
): Promise<CheckVerdict> {
  if (opening === undefined) return noAddress;
  return opening.talk === undefined ? notTested('no session could be opened over the stream') : run(opening.talk);
}

function refused(reply: PeerReply): CheckVerdict {
  const status = reply.http?.status ?? 0;
  return status >= 400 && status < 500 ? held : broken(reply, `${summary(reply)}; expected a refusal`);
}
