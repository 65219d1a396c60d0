/**
 * What a process says first on a lane: who it is, and to whom it speaks. It is sealed, so that only a process with the
 * same key can say it, and it can be used once. Requests that follow on the lane need no proof of their own.
 */
import { BoundedMap } from '../../exchange/bounded-map.ts';
import type { Seal } from '../../store/ports.ts';

const CONTEXT = 'lane between processes';
/** A lane is opened within milliseconds. */
const VALID_MS = 10_000;
/** Hellos that are still valid. Each lane takes one, and lanes stay open. */
const REMEMBERED = 10_000;

interface SealedHello {
  readonly format: 1;
  /** The process that opens the lane. */
  readonly from: string;
  readonly to: string;
  readonly expires: number;
  readonly nonce: string;
}

export interface HelloPorts {
  readonly seal: Seal;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  readonly newId: () => string;
  /** How long a hello is good. */
  readonly validMs?: number;
}

export class Hellos {
  readonly #ports: HelloPorts;
  readonly #used = new BoundedMap<true>(REMEMBERED);

  constructor(ports: HelloPorts) {
    this.#ports = ports;
  }

  write(from: string, to: string): string {
    const { seal, timeOfDay, newId, validMs = VALID_MS } = this.#ports;
    const hello: SealedHello = { format: 1, from, to, expires: timeOfDay() + validMs, nonce: newId() };
    return seal.seal(JSON.stringify(hello), CONTEXT);
  }

  /** Who says it. Undefined where it is not ours, was used, has expired, or is for another process than `own`. */
  open(text: string, own: string): string | undefined {
    const { seal, timeOfDay } = this.#ports;
    const plain = seal.open(text, CONTEXT);
    if (plain === undefined) return undefined;
    const { format, from, to, expires, nonce } = JSON.parse(plain) as SealedHello;
    if (format !== 1 || to !== own || expires < timeOfDay() || this.#used.get(nonce) !== undefined) return undefined;
    this.#used.set(nonce, true);
    return from;
  }
}
