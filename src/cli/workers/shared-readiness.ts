/**
 * `/readyz` for all workers. Each worker reports its readiness to the primary process when it changes, and once a
 * second that it lives; the primary tells all workers what comes of it. So every worker answers alike, and a request
 * for `/readyz` asks no other process.
 */

import { isSame } from '../../app/reload/is-same.ts';
import type { BackendReadiness, Readiness, WorkerState } from '../../downstream/health.ts';
import type { PrimaryService, Seated, WorkerPeer } from './questions.ts';

const BEAT_MS = 1_000;
/** A garbage collection, or a large message, does not take as long. */
const SILENT_MS = 5_000;

/** From the least trouble to the most. */
const troubles: readonly string[] = ['ready', 'personal', 'refused', 'starting', 'down'];

interface Reported {
  readonly worker: Seated;
  /** Undefined: it has started, and reported nothing. */
  readiness: Readiness | undefined;
  heardAt: number;
}

export class SharedReadiness implements PrimaryService {
  readonly #count: number;
  readonly #now: () => number;
  readonly #reported = new Map<number, Reported>();
  readonly #timer: NodeJS.Timeout;
  #told: Readiness | undefined;
  /** All workers were ready at once. Before that, a balancer that replaces gateways must not count on this one. */
  #wasWhole = false;

  constructor(count: number, now: () => number = () => performance.now()) {
    this.#count = count;
    this.#now = now;
    this.#timer = setInterval(() => this.#tell(), BEAT_MS);
  }

  joined(worker: Seated): void {
    const reported: Reported = { worker, readiness: undefined, heardAt: this.#now() };
    this.#reported.set(worker.number, reported);
    worker.peer.answer('report', (readiness) => {
      reported.heardAt = this.#now();
      reported.readiness = readiness ?? reported.readiness;
      return this.#tell(worker);
    });
    this.#tell();
  }

  left({ number }: Seated): void {
    this.#reported.delete(number);
    this.#tell();
  }

  get states(): Readonly<Record<string, WorkerState>> {
    const numbers = Array.from({ length: this.#count }, (_, number) => number);
    return Object.fromEntries(numbers.map((number) => [number, this.#stateOf(this.#reported.get(number))]));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** `asking` gets it as its answer. */
  #tell(asking?: Seated): Readiness {
    const all = this.#all();
    if (isSame(all, this.#told)) return all;
    this.#told = all;
    for (const { worker } of this.#reported.values())
      if (worker !== asking) worker.peer.ask('readiness', all, SILENT_MS).catch(() => undefined);
    return all;
  }

  #all(): Readiness {
    const workers = this.states;
    const states = Object.values(workers);
    this.#wasWhole ||= states.every((state) => state === 'ready');
    const reports = [...this.#reported.values()].flatMap(({ readiness }) =>
      readiness === undefined ? [] : [readiness],
    );
    return {
      ready: this.#wasWhole && states.includes('ready'),
      generation: Math.max(0, ...reports.map(({ generation = 0 }) => generation)),
      workers,
      backends: worstOf(reports),
    };
  }

  #stateOf(reported: Reported | undefined): WorkerState {
    if (reported === undefined) return 'absent';
    if (reported.readiness === undefined) return 'starting';
    if (this.#now() - reported.heardAt > SILENT_MS) return 'silent';
    return reported.readiness.ready ? 'ready' : 'not ready';
  }
}

function worstOf(reports: readonly Readiness[]): Readiness['backends'] {
  const worst: Record<string, BackendReadiness> = {};
  for (const { backends } of reports)
    for (const [name, backend] of Object.entries(backends)) {
      const known = worst[name];
      if (known === undefined || troubles.indexOf(backend.state) > troubles.indexOf(known.state)) worst[name] = backend;
    }
  return worst;
}

/** In a worker: reports, and has what the primary process says of all. */
export class ReportedReadiness {
  readonly #peer: WorkerPeer;
  readonly #own: () => Readiness;
  readonly #timer: NodeJS.Timeout;
  #sent: Readiness | undefined;
  #all: Readiness | undefined;

  constructor(peer: WorkerPeer, own: () => Readiness) {
    this.#peer = peer;
    this.#own = own;
    peer.answer('readiness', (all) => {
      this.#all = all;
      return null;
    });
    this.#timer = setInterval(() => this.#report(true), BEAT_MS).unref();
  }

  /** This worker's alone until the primary process has answered. */
  get now(): Readiness {
    return this.#all ?? { ...this.#own(), ready: false };
  }

  changed(): void {
    this.#report(false);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #report(isBeat: boolean): void {
    const own = this.#own();
    const isKnown = isSame(own, this.#sent);
    if (isKnown && !isBeat) return;
    this.#sent = own;
    this.#peer.ask('report', isKnown ? undefined : own, SILENT_MS).then(
      (all) => {
        this.#all = all;
      },
      () => {
        this.#sent = undefined;
      },
    );
  }
}
