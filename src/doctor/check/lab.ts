/** What checks share: further connections to the same server, and what was read before. */
import type { Transport } from '../../upstream/verdict.ts';
import type { Era } from '../../wire/revisions.ts';
import type { Fetching } from '../authorization/metadata.ts';
import { lists, readList, type ServerList } from '../lists.ts';
import type { HttpPeer, HttpPeerOptions } from '../peer/http.ts';
import type { Peer } from '../peer/peer.ts';
import type { JsonObject, PeerFault } from '../peer/reply.ts';
import type { SecretMask } from '../peer/secrets.ts';
import { SsePeer } from '../peer/sse.ts';
import type { StdioPeer } from '../peer/stdio.ts';
import { type LegacyOpening, type Opening, openLegacy, type Talk } from '../talk.ts';
import { connectTo, type NamedCall, type Target } from '../visit.ts';
import { NamedTool } from './named-tool.ts';

export interface LabOptions {
  readonly target: Target;
  readonly timeoutMs: number;
  readonly secrets: SecretMask;
  readonly call?: NamedCall | undefined;
}

type ReadLists = ReturnType<typeof readList>;

export class Lab {
  readonly tool: NamedTool | undefined;
  /** How the server answered the first request of each era. */
  readonly openings = new Map<Era, Opening>();
  readonly #options: LabOptions;
  readonly #peers = new Set<Peer>();
  readonly #sessions: Talk[] = [];
  #older: HttpPeerOptions | undefined;
  readonly #lists = new Map<Talk, Map<string, ReadLists>>();

  constructor(options: LabOptions) {
    this.#options = options;
    this.tool = options.call && new NamedTool(options.call);
  }

  get fetching(): Fetching {
    return this.#options;
  }

  speaks(era: Era): boolean {
    return this.openings.get(era)?.talk !== undefined;
  }

  /** The server speaks HTTP+SSE. From now on, connections are such streams. */
  useOlder(opening: Opening<SsePeer>, options: HttpPeerOptions): void {
    this.#older = options;
    this.openings.set('legacy', opening);
  }

  get transport(): Transport {
    return this.#older === undefined ? this.#options.target.kind : 'sse';
  }

  async connect(withinMs?: number): Promise<HttpPeer | StdioPeer | SsePeer | PeerFault> {
    const { target, secrets } = this.#options;
    const timeoutMs = Math.min(this.#options.timeoutMs, withinMs ?? Number.POSITIVE_INFINITY);
    const peer = await (this.#older === undefined
      ? connectTo(target, timeoutMs, secrets)
      : SsePeer.open({ ...this.#older, timeoutMs }));
    if (!('finding' in peer)) this.#peers.add(peer);
    return peer;
  }

  /**
   * A session of its own: over HTTP with the same server, over stdio with a new process. `withinMs`: the time limit of
   * each answer, where it is shorter than the usual one.
   */
  async session(revision?: string, withinMs?: number): Promise<LegacyOpening | PeerFault> {
    const peer = await this.connect(withinMs);
    if ('finding' in peer) return peer;
    const opening = await openLegacy<Peer>(peer, revision);
    if (opening.talk !== undefined) this.#sessions.push(opening.talk);
    return opening;
  }

  /** Reads a list once. */
  list(talk: Talk, member: ServerList['member']): ReadLists {
    const kind = lists.find((one) => one.member === member) as ServerList;
    const known = this.#lists.get(talk) ?? new Map<string, ReadLists>();
    this.#lists.set(talk, known);
    const read = known.get(member) ?? readList(talk, kind);
    known.set(member, read);
    return read;
  }

  async tools(talk: Talk): Promise<readonly JsonObject[]> {
    return (await this.list(talk, 'tools')).entries;
  }

  /** Ends sessions and processes. */
  async close(): Promise<void> {
    for (const { peer, session, headers } of this.#sessions.splice(0))
      if (session !== undefined && peer.kind === 'http') await (peer as HttpPeer).bare('DELETE', headers);
    await Promise.all([...this.#peers].map((peer) => peer.close()));
    this.#peers.clear();
  }
}
