/** What `bascule status` says of all workers. */
import type { ControlAnswer, ControlRequest } from '../control/server.ts';
import type { OwnStatus, PrimaryService, Seated, WorkerPeer, WorkerStatus } from './questions.ts';
import type { SharedReadiness } from './shared-readiness.ts';

/** A worker that takes longer is shown without facts of its own. */
const ANSWER_MS = 2_000;
/** The primary process answers after the slowest worker. */
const ALL_MS = 2 * ANSWER_MS;

export class SharedStatus implements PrimaryService {
  readonly #workers: () => ReadonlyMap<number, Seated>;
  readonly #readiness: Pick<SharedReadiness, 'states'>;

  constructor(workers: () => ReadonlyMap<number, Seated>, readiness: Pick<SharedReadiness, 'states'>) {
    this.#workers = workers;
    this.#readiness = readiness;
  }

  joined({ peer }: Seated): void {
    peer.answer('statuses', () => this.#all());
  }

  #all(): Promise<readonly WorkerStatus[]> {
    const workers = this.#workers();
    return Promise.all(
      Object.entries(this.#readiness.states).map(async ([number, state]) => {
        const own = await workers
          .get(Number(number))
          ?.peer.ask('status', null, ANSWER_MS)
          .catch(() => undefined);
        return { worker: Number(number), state, ...own };
      }),
    );
  }
}

interface OverviewFacts {
  readonly gateway: object;
}

/** In the worker that has the control socket: its overview, with the workers and what they have together. */
export function overviewOfAll(
  operate: (request: ControlRequest) => Promise<ControlAnswer>,
  peer: WorkerPeer,
): (request: ControlRequest) => Promise<ControlAnswer> {
  return async (request) => {
    const answer = await operate(request);
    if (request.path !== '/overview' || answer.status !== 200) return answer;
    const workers = await peer.ask('statuses', null, ALL_MS);
    const total = (of: (status: OwnStatus) => number | undefined) =>
      workers.reduce((sum, status) => sum + (of(status) ?? 0), 0);
    const overview = answer.body as OverviewFacts;
    const gateway = {
      ...overview.gateway,
      sessions: total(({ sessions }) => sessions),
      inFlight: total(({ inFlight }) => inFlight),
    };
    return { status: 200, body: { ...overview, gateway, workers } };
  };
}
