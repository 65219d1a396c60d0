/**
 * Ids of sessions that can be continued where the session is not known: after a restart, or in another process with the
 * same key. An id is what was fixed at `initialize`, sealed. It opens only at the endpoint and for the principal that
 * it was issued for, and proves nothing about who presents it: every request has credentials of its own. Sealed are the
 * time of issue, and what the client said of itself.
 */
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { ClientFacts } from '../exchange/call.ts';
import { KeyedSeals } from '../exchange/keyed-seals.ts';
import type { KeyedSeal } from '../store/ports.ts';
import { readCapabilities } from '../wire/capabilities.ts';
import type { Raw } from '../wire/compose.ts';
import { isRevision } from '../wire/revisions.ts';

/**
 * Of what a client said of itself. Ids travel in a header of every request, and servers take 8 to 16 KiB of headers.
 * Clients say some hundred bytes.
 */
const MOST_BYTES = 2048;
/** Ids that were opened, some KiB each: where sessions are elsewhere, the same ones come with every request. */
const REMEMBERED = 4_096;

/** What an id is bound to. */
export interface SessionPlace {
  /** The path of the endpoint. */
  readonly endpoint: string;
  /** The key of the principal. */
  readonly principal: string;
}

export interface SealedSession {
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
  /** Until when it may live, likewise. The limit may be another one later; records of the session end with this. */
  readonly until: number;
  /** The process that opened the session, where there are several. */
  readonly member: string;
  readonly client: ClientFacts;
}

interface OpenedId {
  readonly place: SessionPlace;
  readonly sealed: SealedSession;
}

export class SessionSeal {
  /** Which gateway issued the ids: none takes the sessions of another that has the same key. */
  readonly #instance: string;
  readonly #seals: KeyedSeals;
  readonly #opened = new BoundedMap<OpenedId>(REMEMBERED);

  /** `seals`: the current one first, then those whose ids are still accepted. Without any, no id is sealed. */
  constructor(instance: string, seals: readonly KeyedSeal[]) {
    this.#instance = instance;
    this.#seals = new KeyedSeals(seals, MOST_BYTES);
  }

  /** Undefined without a key, or where the client said too much of itself: its session is not continued elsewhere. */
  issue({ issuedAt, until, member, client }: SealedSession, place: SessionPlace): string | undefined {
    const { revision, capabilities, info, via } = client;
    const facts = [issuedAt, until, member, revision, capabilities.raw, info === undefined ? null : textOf(info), via];
    return this.#seals.seal(JSON.stringify(facts), this.#context(place));
  }

  /** Undefined for everything that was not issued by this gateway, for this place. */
  open(id: string, place: SessionPlace): SealedSession | undefined {
    const known = this.#opened.get(id);
    if (known?.place.endpoint === place.endpoint && known.place.principal === place.principal) return known.sealed;
    const sealed = this.#read(id, place);
    if (sealed !== undefined) this.#opened.set(id, { place, sealed });
    return sealed;
  }

  #read(id: string, place: SessionPlace): SealedSession | undefined {
    const plain = this.#seals.open(id, this.#context(place));
    if (plain === undefined) return undefined;
    const [issuedAt, until, member, revision, capabilities, info, via] = JSON.parse(plain) as SealedFacts;
    // A process of another version may know other revisions.
    if (!isRevision(revision)) return undefined;
    return {
      ...{ issuedAt, until, member },
      client: {
        ...{ revision, info: info ?? undefined, capabilities: readCapabilities(capabilities) },
        ...(via && { via }),
      },
    };
  }

  #context({ endpoint, principal }: SessionPlace): string {
    return JSON.stringify([this.#instance, endpoint, principal]);
  }
}

type SealedFacts = [
  issuedAt: number,
  until: number,
  member: string,
  revision: string,
  capabilities: unknown,
  info: string | null,
  via: readonly string[] | null,
];

function textOf(raw: Raw): string {
  return typeof raw === 'string' ? raw : Buffer.from(raw).toString();
}
