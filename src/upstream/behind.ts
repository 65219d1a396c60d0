/**
 * Which gateways are behind a backend, as the backend reports them (wire/via.ts has the rule). A backend that leads
 * back to this gateway, directly or through others, is down until it reports otherwise. Gateways learn of each other by
 * probing, so a loop is found after at most as many probes as it has gateways.
 */
import { type GatewayRoute, leadsBack, readRoutes } from '../wire/via.ts';
import { type FailureKind, failureOfKind } from './as-failure.ts';
import type { TimerClock } from './deadlines.ts';

export interface BehindOptions {
  /** The id of this gateway. */
  readonly own: string;
  /** The ids of the gateways that started this one. */
  readonly outer: readonly string[];
  /** Whether a gateway has called this one. */
  readonly hasMet: (id: string) => boolean;
  readonly clock: Pick<TimerClock, 'after'>;
  /** How often to probe a backend that is a gateway: it does not announce changes behind it. Undefined: never. */
  readonly everyMs: number | undefined;
}

/** The backend, as `Behind` sees it. */
export interface Asking {
  /** Probes the backend. */
  look(): void;
  /** A response outside of a probe said that the backend leads back. */
  suspect(): void;
}

export class Behind {
  readonly #options: BehindOptions;
  #asking: Asking | undefined;
  #told: readonly GatewayRoute[] = [];
  #wasTold = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: BehindOptions) {
    this.#options = options;
  }

  /** The routes that this gateway reports to its own clients. */
  get told(): readonly GatewayRoute[] {
    return this.#leadsBack ? [] : this.#told;
  }

  attach(asking: Asking): void {
    this.#asking = asking;
  }

  /** Reads the header of a response. */
  heard(via: string): void {
    this.#wasTold = true;
    this.#told = readRoutes(via);
    if (this.#leadsBack) this.#asking?.suspect();
  }

  /**
   * Rejects where the responses to the probe say that the backend leads back. Without the header it is no gateway, or
   * is away.
   */
  async during<T>(look: () => Promise<T>): Promise<T> {
    this.#wasTold = false;
    try {
      return await look();
    } finally {
      this.#looked();
    }
  }

  close(): void {
    this.#asking = undefined;
    this.#cancelTimer?.();
  }

  get #leadsBack(): boolean {
    const { own, outer, hasMet } = this.#options;
    return leadsBack(this.#told, own, outer, hasMet);
  }

  #looked(): void {
    if (!this.#wasTold) this.#told = [];
    this.#lookLater();
    if (this.#leadsBack) throw failureOfKind('backend_unavailable', ledBack);
  }

  #lookLater(): void {
    this.#cancelTimer?.();
    const { clock, everyMs } = this.#options;
    if (everyMs === undefined || this.#told.length === 0 || this.#asking === undefined) return;
    this.#cancelTimer = clock.after(everyMs, () => this.#asking?.look());
  }
}

const ledBack: FailureKind = {
  why: 'it leads back to this gateway',
  cure: 'a gateway behind it has this gateway as a backend: remove one of them from the config of the other',
};
