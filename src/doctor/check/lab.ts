/** What checks share: further connections to the same server, and what was read before. */
import type { Era } from '../../wire/revisions.ts';
import type { Fetching } from '../authorization/metadata.ts';
import { lists, readList, type ServerList } from '../lists.ts';
import type { HttpPeer } from '../peer/http.ts';
import type { Peer } from '../peer/peer.ts';
import type { JsonObject, PeerFault } from '../peer/reply.ts';
import type { SecretMask } from '../peer/secrets.ts';
import type { StdioPeer } from '../peer/stdio.ts';
import { type LegacyOpening, type Opening, openLegacy, type Talk } from '../talk.ts';
import { connectTo, type NamedCall, type Target } from '../visit.ts';

export interface LabOptions {
  readonly target: Target;
  readonly timeoutMs: number;
  readonly secrets: SecretMask;
  readonly call?: NamedCall | undefined;
}

type ReadLists = ReturnType<typeof readList>;

export class Lab {
  readonly call: NamedCall | undefined;
  /** How the server answered the first request of each era. */
  readonly openings = new Map<Era, Opening>();
  readonly #options: LabOptions;
  readonly #peers = new Set<Peer>();
  readonly #sessions: Talk[] = [];
  readonly #lists = new Map<Talk, Map<string, ReadLists>>();

  constructor(options: LabOptions) {
    this.#options = options;
    this.call = options.call;
  }

  get fetching(): Fetching {
    return this.#options;
  }

  speaks(era: Era): boolean {
    return this.openings.get(era)?.talk !== undefined;
  }

  async connect(): Promise<HttpPeer | StdioPeer | PeerFault> {
    const { target, timeoutMs, secrets } = this.#options;
    const peer = await connectTo(target, timeoutMs, secrets);
    if (!('finding' in peer)) this.#peers.add(peer);
    return peer;
  }

  /** A session of its own: over HTTP with the same server, over stdio with a new process. */
  async session(revision?: string): Promise<LegacyOpening | PeerFault> {
    const peer = await this.connect();
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
