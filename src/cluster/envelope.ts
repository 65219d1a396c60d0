/**
 * What goes with a request that one process forwards to another: it was authenticated there, when, and for whom. The
 * receiver authenticates the sender once more by the request's own credentials, and decides by its own policy. The
 * envelope is sealed, so that only processes with the same key can forward, and it can be used once.
 */
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { Seal } from '../store/ports.ts';

export const ENVELOPE_HEADER = 'bascule-forwarded';

const CONTEXT = 'forwarded request';
/** A forwarded request arrives within milliseconds. */
const VALID_MS = 10_000;
/** Envelopes that are still valid; with more of them, the oldest are forgotten and could be replayed. */
const REMEMBERED = 100_000;

export interface Envelope {
  /** The process that sends it. */
  readonly from: string;
  /** The process that the request is for. */
  readonly to: string;
  readonly method: string;
  /** As in the request line. */
  readonly url: string;
  /** The key of the principal. */
  readonly principal: string;
  /** Of the client. Empty where it is not known. */
  readonly address: string;
  /** The process that had the session hands it over. */
  readonly takesOver?: boolean | undefined;
}

interface SealedEnvelope extends Envelope {
  readonly format: 1;
  readonly expires: number;
  readonly nonce: string;
}

export interface EnvelopePorts {
  readonly seal: Seal;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  readonly newId: () => string;
  /** How long an envelope is good. */
  readonly validMs?: number;
}

export class Envelopes {
  readonly #ports: EnvelopePorts;
  readonly #used = new BoundedMap<true>(REMEMBERED);

  constructor(ports: EnvelopePorts) {
    this.#ports = ports;
  }

  write(envelope: Envelope): string {
    const { seal, timeOfDay, newId, validMs = VALID_MS } = this.#ports;
    const sealed: SealedEnvelope = { format: 1, ...envelope, expires: timeOfDay() + validMs, nonce: newId() };
    return seal.seal(JSON.stringify(sealed), CONTEXT);
  }

  /** Undefined where the envelope is not ours, was used, has expired, or belongs to another request. */
  open(text: string, request: Pick<Envelope, 'to' | 'method' | 'url'>): Envelope | undefined {
    const { seal, timeOfDay } = this.#ports;
    const plain = seal.open(text, CONTEXT);
    if (plain === undefined) return undefined;
    const envelope = JSON.parse(plain) as SealedEnvelope;
    const isForThis = envelope.to === request.to && envelope.method === request.method && envelope.url === request.url;
    if (envelope.format !== 1 || !isForThis || envelope.expires < timeOfDay()) return undefined;
    if (this.#used.get(envelope.nonce) !== undefined) return undefined;
    this.#used.set(envelope.nonce, true);
    return envelope;
  }
}
