/** What the last probe of a backend found, and how long that counts. */
import type { Discovery } from '../exchange/upstream-session.ts';
import type { TransportWay } from './backend-options.ts';
import { type Probed, withLegacy } from './probe.ts';

export type ProbedWay = Pick<Probed, 'discovery' | 'way'>;

/** A discovery younger than this cannot be doubted, so a client that provokes errors cannot provoke probes. */
const TRUST_MS = 5000;

export class KnownDiscovery implements ProbedWay {
  readonly discovery: Discovery;
  readonly way: TransportWay;
  readonly promise: Promise<Discovery>;
  #at: number;
  #isDoubted = false;
  /** The last discovery of a session that was found to be the same. */
  #confirmed: Discovery | undefined;

  constructor({ discovery, way }: ProbedWay, at: number) {
    this.discovery = discovery;
    this.way = way;
    this.promise = Promise.resolve(discovery);
    this.#at = at;
  }

  isFresh(now: number, maxAgeMs: number): boolean {
    return !this.#isDoubted && now - this.#at < maxAgeMs;
  }

  doubt(now: number): void {
    if (now - this.#at >= TRUST_MS) this.#isDoubted = true;
  }

  /**
   * A newly opened session reports the same facts as a probe. Where both agree, the discovery counts as fresh, which
   * saves a probe (over stdio: a process).
   */
  confirm(discovery: Discovery, now: number): void {
    if (this.#isDoubted || this.discovery.eras.includes('modern')) return;
    if (discovery !== this.#confirmed) {
      const same = { ...discovery, revision: this.discovery.revision };
      if (JSON.stringify(same) !== JSON.stringify(this.discovery)) return;
      this.#confirmed = discovery;
    }
    this.#at = now;
  }

  /** The same backend, which was found to have the legacy era as well. */
  andLegacy(): KnownDiscovery {
    const known = new KnownDiscovery({ discovery: withLegacy(this.discovery), way: this.way }, this.#at);
    known.#isDoubted = this.#isDoubted;
    known.#confirmed = this.#confirmed;
    return known;
  }
}
