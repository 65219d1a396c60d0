/**
 * Calls that wait for a modern client's answers. The client holds a sealed state that names the call; whoever brings it back
 * with the same request and as the same principal takes the call, once.
 */
import { Failure } from '../errors/failure.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Principal } from '../identity/principal.ts';
import type { Lease, Seal } from '../store/ports.ts';
import { canonicalMembers } from '../wire/canonical-request.ts';
import type { Request } from '../wire/message.ts';
import { membersAt } from '../wire/skim.ts';
import { member } from '../wire/values.ts';
import type { ModernResponder } from './modern-responder.ts';

export interface ParkingLimits {
  /** How long a client may take to come back. */
  readonly parkedMs: number;
  readonly parkedPerPrincipal: number;
  readonly parkedTotal: number;
}

export interface ParkingPorts {
  readonly clock: Clock;
  readonly seal: Seal;
  readonly lease: Lease;
  readonly newId: () => string;
  /** How many calls of all principals may wait at a backend: each holds a connection or a process that others need too. */
  readonly roomAt: (backend: string) => number;
}

/** Who asked for what, and where: what a state is bound to. */
export interface Claim {
  readonly principal: Principal;
  /** The path of the address: others may have other rules. */
  readonly endpoint: string;
  readonly request: Request;
}

/** A call that is over, and is to be made anew: nothing of it is held here. */
export interface Anew {
  /** Rounds that it has had. */
  readonly rounds: number;
}

interface Sealed {
  readonly expires: number;
  /** Of a parked call. */
  readonly id?: string;
  /** Of one that is to be made anew. */
  readonly rounds?: number;
}

interface Parked {
  readonly responder: ModernResponder;
  readonly principal: string;
  readonly backend: string;
  /** The path. */
  readonly endpoint: string;
  readonly stopWaiting: () => void;
}

/** Of the parameters, what a retry may change: they are not part of what the state is bound to. */
const variable: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState']);

export class PendingCalls {
  readonly #limits: ParkingLimits;
  readonly #clock: Clock;
  readonly #seal: Seal;
  readonly #lease: Lease;
  readonly #newId: () => string;
  readonly #parked = new Map<string, Parked>();
  readonly #perPrincipal = new Tally();
  readonly #perBackend = new Tally();
  readonly #roomAt: (backend: string) => number;

  constructor(limits: ParkingLimits, ports: ParkingPorts) {
    this.#limits = limits;
    this.#clock = ports.clock;
    this.#seal = ports.seal;
    this.#lease = ports.lease;
    this.#newId = ports.newId;
    this.#roomAt = ports.roomAt;
  }

  get size(): number {
    return this.#parked.size;
  }

  /** The state that brings the client back to the call, or why there is no room for it. */
  park(responder: ModernResponder, claim: Claim, backend: string): string | Failure {
    const { principal } = claim;
    const isFull =
      this.#parked.size >= this.#limits.parkedTotal ||
      this.#perPrincipal.of(principal.key) >= this.#limits.parkedPerPrincipal ||
      this.#perBackend.of(backend) >= this.#roomAt(backend);
    if (isFull) return new Failure('too_many_parked');
    const id = this.#newId();
    const expires = this.#clock.now() + this.#limits.parkedMs;
    const stopWaiting = this.#clock.after(this.#limits.parkedMs, () => {
      this.#remove(id);
      responder.abandon('The client did not come back');
    });
    this.#parked.set(id, { responder, principal: principal.key, backend, endpoint: claim.endpoint, stopWaiting });
    this.#perPrincipal.add(principal.key, 1);
    this.#perBackend.add(backend, 1);
    return this.#seal.seal(JSON.stringify({ id, expires } satisfies Sealed), context(claim));
  }

  /** The state that makes the client's retry a new call, and still one more round of the same request. */
  anew(claim: Claim, rounds: number): string {
    const expires = this.#clock.now() + this.#limits.parkedMs;
    return this.#seal.seal(JSON.stringify({ rounds, expires } satisfies Sealed), context(claim));
  }

  /** A backend's own state, as it stands in its answer, for whoever it was given to and nobody else. */
  seal(state: string, claim: Claim): string {
    return this.#seal.seal(state, ownContext(claim));
  }

  /** The backend's own state again. Nothing is held for it, so that it can be used as often as the backend likes. */
  unseal(sealed: string, claim: Claim): string {
    const state = this.#seal.open(sealed, ownContext(claim));
    if (state === undefined) throw new Failure('invalid_request_state');
    return state;
  }

  /** Whether it is a state of ours for just this request, and no backend's own. Nothing is taken. */
  isOurs(state: string, claim: Claim): boolean {
    return this.#seal.open(state, context(claim)) !== undefined;
  }

  /** A state that was changed, is too old, was used, or is another's leaves the parked call as it is. */
  async take(state: string, claim: Claim): Promise<ModernResponder | Anew> {
    const plain = this.#seal.open(state, context(claim));
    const sealed: Sealed = plain === undefined ? { expires: 0 } : (JSON.parse(plain) as Sealed);
    const { id = '', rounds, expires } = sealed;
    if (expires <= this.#clock.now()) throw new Failure('invalid_request_state');
    checkResponses(claim.request);
    if (rounds !== undefined) return { rounds };
    // Two retries at once, perhaps at two replicas: one of them has the call.
    const lease = await this.#lease.take(`parked/${id}`, this.#limits.parkedMs);
    const parked = lease && this.#parked.get(id);
    if (parked !== undefined) this.#remove(id);
    // Taken is what is no longer here. A lease that was kept would be one more thing that clients can pile up, and one that was
    // kept where the call is not would keep its owner from it.
    void lease?.release();
    if (parked === undefined) throw new Failure('invalid_request_state');
    parked.stopWaiting();
    return parked.responder;
  }

  /** Ends those that wait at a backend, or for a client of an endpoint, that is gone. */
  end(reason: string, isGone: (backend: string, endpoint: string) => boolean): void {
    for (const [id, { responder, stopWaiting, backend, endpoint }] of [...this.#parked]) {
      if (!isGone(backend, endpoint)) continue;
      stopWaiting();
      this.#remove(id);
      responder.abandon(reason);
    }
  }

  close(): void {
    this.end('The gateway is shutting down', () => true);
  }

  #remove(id: string): void {
    const parked = this.#parked.get(id);
    if (parked === undefined) return;
    this.#parked.delete(id);
    this.#perPrincipal.add(parked.principal, -1);
    this.#perBackend.add(parked.backend, -1);
  }
}

class Tally {
  readonly #counts = new Map<string, number>();

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, change: 1 | -1): void {
    const count = this.of(key) + change;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}

/**
 * Answers go to the backend as the results of its questions, which are objects. Others are refused while the call is still
 * parked, so that whoever sent them can try again; answers to questions that nobody asked are ignored later.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#error-handling
 */
function checkResponses({ bytes, params }: Request): void {
  const responses = member(params, 'inputResponses');
  if (responses === undefined) return;
  const answers = membersAt(bytes, responses)?.members;
  if (answers?.every((answer) => membersAt(bytes, answer) !== undefined) !== true)
    throw new Failure('invalid_params', { message: 'inputResponses must be an object of objects' });
}

function ownContext(claim: Claim): string {
  return `backend's own ${context(claim)}`;
}

/** Principal, address, method and parameters: a state that comes with any other of them does not open. */
function context({ principal, endpoint, request }: Claim): string {
  const { bytes, params, method } = request;
  const fixed = params === undefined ? '{}' : canonicalMembers(bytes, params, variable);
  return JSON.stringify(['bascule/parked', principal.key, endpoint, method, fixed]);
}
