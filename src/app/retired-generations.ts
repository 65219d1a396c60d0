/** Closes what a generation had, once it is replaced or the gateway stops. */
import type { Clock } from '../exchange/clock.ts';
import type { BackendInFlight } from '../pipeline/in-flight.ts';
import type { DecisionPoints } from '../policy/outside.ts';
import type { BuiltGeneration } from './build-generation.ts';

/** How long the last records may take to be written: a disk that takes longer has failed. */
export const AUDIT_CLOSE_MS = 2_000;

export class RetiredGenerations {
  readonly #inFlight: BackendInFlight;
  readonly #clock: Clock;
  /** Backends and services at which requests still run. */
  readonly #finishing = new Set<{ close(): Promise<void> }>();
  readonly #audits = new Set<Promise<void>>();

  constructor(inFlight: BackendInFlight, clock: Clock) {
    this.#inFlight = inFlight;
    this.#clock = clock;
  }

  /**
   * Closes what `next` has not taken over: each backend and service when the last request at it is done, within
   * `drainMs`. Requests are counted by backend, not by generation, because a backend that was taken over may still
   * serve a request of an earlier generation.
   */
  retire(old: BuiltGeneration, next: BuiltGeneration): void {
    const kept = new Set<unknown>([...next.backends, ...next.services.values()]);
    for (const one of [...old.backends, ...old.services.values()]) {
      if (kept.has(one)) continue;
      this.#finishing.add(one);
      void this.#inFlight
        .vacate(one.name, old.config.limits.drainMs, this.#clock)
        .then(() => one.close())
        .catch(() => undefined)
        .finally(() => this.#finishing.delete(one));
    }
    if (old.decisions !== undefined && old.decisions !== next.decisions) this.#closeLater(old.decisions.points, old);
    this.#closeServices(old, next);
  }

  /** Closes a generation that was never in force, so that no request has used what only it has. */
  discard(unused: BuiltGeneration, current: BuiltGeneration): void {
    const kept = new Set<unknown>([...current.backends, ...current.services.values()]);
    for (const one of [...unused.backends, ...unused.services.values()])
      if (!kept.has(one)) void one.close().catch(() => undefined);
    this.#closeServices(unused, current);
  }

  /** Not at once: a request of this generation may be about to ask. What is asked by then is answered first. */
  #closeLater(points: DecisionPoints, { config }: BuiltGeneration): void {
    this.#finishing.add(points);
    this.#clock.after(config.limits.drainMs, () => {
      void points.retire().finally(() => this.#finishing.delete(points));
    });
  }

  /** The gateway stops, and its requests have ended: closes the last generation, and what is left of earlier ones. */
  async close({ identity, oauth, backends, services, audit, decisions }: BuiltGeneration): Promise<void> {
    identity.close();
    oauth.opened?.credentials.close();
    await Promise.all([...this.#finishing, ...backends, ...services.values()].map((one) => one.close()));
    await decisions?.points.close();
    await Promise.all([...this.#audits, audit?.writer.close(AUDIT_CLOSE_MS)]);
  }

  /** No request needs these any more: who is being authenticated now is authenticated again under `next`. */
  #closeServices(old: BuiltGeneration, next: BuiltGeneration): void {
    if (old.identity !== next.identity) old.identity.close();
    if (old.oauth !== next.oauth) old.oauth.opened?.credentials.close();
    if (old.audit === undefined || old.audit === next.audit) return;
    const closing = old.audit.writer.close(AUDIT_CLOSE_MS).finally(() => this.#audits.delete(closing));
    this.#audits.add(closing);
  }
}
