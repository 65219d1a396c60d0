/**
 * Which gateways stand behind a backend, as the backend says itself (wire/via.ts has the rule). One that leads back to this
 * gateway, however many gateways are in between, is down until it says otherwise. Gateways learn of each other by asking, so a loop
 * is found after at most as many looks as it has gateways.
 */
import { Failure, failures } from '../errors/failure.ts';
import { type GatewayRoute, leadsBack, readRoutes } from '../wire/via.ts';
import type { TimerClock } from './deadlines.ts';

export interface BehindOptions {
  /** The id of this gateway. */
  readonly own: string;
  /** The ids of those that started it. */
  readonly outer: readonly string[];
  readonly clock: Pick<TimerClock, 'after'>;
  /** How often a backend that is a gateway is asked again: what stands behind it changes without a word. Undefined: never. */
  readonly everyMs: number | undefined;
}

/** The backend that it is about. */
export interface Asking {
  /** Asks the backend what it is. */
  look(): void;
  /** Something was said in passing that speaks against the backend. */
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

  /** For those who have this gateway as a backend. */
  get told(): readonly GatewayRoute[] {
    return this.#leadsBack ? [] : this.#told;
  }

  attach(asking: Asking): void {
    this.#asking = asking;
  }

  /** The header of an answer. */
  heard(via: string): void {
    this.#wasTold = true;
    this.#told = readRoutes(via);
    if (this.#leadsBack) this.#asking?.suspect();
  }

  /** Rejects where the answers to the look say that the backend leads back. Where they say nothing, it is no gateway, or away. */
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
    return leadsBack(this.#told, this.#options.own, this.#options.outer);
  }

  #looked(): void {
    if (!this.#wasTold) this.#told = [];
    this.#lookLater();
    if (this.#leadsBack) throw leadsBackFailure();
  }

  #lookLater(): void {
    this.#cancelTimer?.();
    const { clock, everyMs } = this.#options;
    if (everyMs === undefined || this.#told.length === 0 || this.#asking === undefined) return;
    this.#cancelTimer = clock.after(everyMs, () => this.#asking?.look());
  }
}

function leadsBackFailure(): Failure {
  return new Failure('backend_unavailable', {
    message: `${failures.backend_unavailable.message}: it leads back to this gateway`,
    cure: 'one of the gateways behind it has this one as a backend: take one of them out of the config of the other',
  });
}
