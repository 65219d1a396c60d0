/**
 * Calls that wait for a modern client's answers. The client holds a sealed state that names the call. A retry with that
 * state, the same request and the same principal takes over the call, once.
 */
import { Failure } from '../errors/failure.ts';
import type { Clock } from '../exchange/clock.ts';
import { Tally } from '../exchange/tally.ts';
import type { Principal } from '../identity/principal.ts';
import type { Lease, Seal } from '../store/ports.ts';
import { canonicalMembers } from '../wire/canonical.ts';
import type { Request } from '../wire/message.ts';
import { membersAt } from '../wire/skim.ts';
import { member } from '../wire/values.ts';
import type { ModernResponder } from './modern-responder.ts';

export interface PendingCallLimits {
  /** How long a client may take to retry. */
  readonly parkedMs: number;
  readonly parkedPerPrincipal: number;
  readonly parkedTotal: number;
}

export interface PendingCallPorts {
  readonly clock: Clock;
  readonly seal: Seal;
  readonly lease: Lease;
  readonly newId: () => string;
  /** This process, where the gateway has several. */
  readonly member: string;
  /**
   * Limit of pending calls of all principals at a backend: each holds a connection or a process that others need too.
   */
  readonly roomAt: (backend: string) => number;
}

/** What a state is bound to: principal, endpoint and request. */
export interface Claim {
  readonly principal: Principal;
  /** The path of the endpoint: others may have different rules. */
  readonly endpoint: string;
  readonly request: Request;
}

/** A call that is over, and that the retry makes again: nothing of it is kept here. */
export interface Anew {
  /** Rounds so far. */
  readonly rounds: number;
}

interface Sealed {
  readonly expires: number;
  /** For a pending call. */
  readonly id?: string;
  /** The process that has the pending call, and whose clock tells when the state expires. */
  readonly member?: string;
  /** For a call that is to be made again. */
  readonly rounds?: number;
  /** For a call that waits for an approval: the question. Any process can find it. */
  readonly approval?: string;
}

interface PendingCall {
  readonly responder: ModernResponder;
  /** The key of the principal that it counts for. */
  readonly holder: string;
  readonly backend: string;
  /** The path of the endpoint. */
  readonly endpoint: string;
  readonly stopWaiting: () => void;
}

/** Parameters that a retry may change: the state is not bound to them. */
const variable: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState']);

export class PendingCalls {
  readonly #limits: PendingCallLimits;
  readonly #clock: Clock;
  readonly #seal: Seal;
  readonly #lease: Lease;
  readonly #newId: () => string;
  readonly #member: string;
  readonly #parked = new Map<string, PendingCall>();
  readonly #perPrincipal = new Tally();
  readonly #perBackend = new Tally();
  readonly #roomAt: (backend: string) => number;

  constructor(limits: PendingCallLimits, ports: PendingCallPorts) {
    this.#limits = limits;
    this.#clock = ports.clock;
    this.#seal = ports.seal;
    this.#lease = ports.lease;
    this.#newId = ports.newId;
    this.#member = ports.member;
    this.#roomAt = ports.roomAt;
  }

  get size(): number {
    return this.#parked.size;
  }

  /** Returns the state with which the client's retry finds the call, or a failure at the limit. */
  park(responder: ModernResponder, claim: Claim, backend: string): string | Failure {
    const { key: holder } = claim.principal.holder ?? claim.principal;
    const isFull =
      this.#parked.size >= this.#limits.parkedTotal ||
      this.#perPrincipal.of(holder) >= this.#limits.parkedPerPrincipal ||
      this.#perBackend.of(backend) >= this.#roomAt(backend);
    if (isFull) return new Failure('too_many_parked');
    const id = this.#newId();
    const expires = this.#clock.now() + this.#limits.parkedMs;
    const stopWaiting = this.#clock.after(this.#limits.parkedMs, () => {
      this.#remove(id);
      responder.abandon('The client did not retry the request in time');
    });
    this.#parked.set(id, { responder, holder, backend, endpoint: claim.endpoint, stopWaiting });
    this.#perPrincipal.add(holder, 1);
    this.#perBackend.add(backend, 1);
    return this.#seal.seal(JSON.stringify({ id, member: this.#member, expires } satisfies Sealed), context(claim));
  }

  /** The state for a retry that makes a new call, counted as one more round of the same request. */
  anew(claim: Claim, rounds: number): string {
    const expires = this.#clock.now() + this.#limits.parkedMs;
    return this.#seal.seal(JSON.stringify({ rounds, member: this.#member, expires } satisfies Sealed), context(claim));
  }

  /** The state for a retry that brings the answer to a question about an approval. The question has its own end. */
  asking(claim: Claim, approval: string): string {
    return this.#seal.seal(JSON.stringify({ approval, expires: 0 } satisfies Sealed), context(claim));
  }

  /** The question that a retry answers. Undefined where its state is another one. */
  askedIn(state: string, claim: Claim): string | undefined {
    const plain = this.#seal.open(state, context(claim));
    return plain === undefined ? undefined : (JSON.parse(plain) as Sealed).approval;
  }

  /** Seals a backend's own state, as it is in the response, for the principal that receives it. */
  seal(state: string, claim: Claim): string {
    return this.#seal.seal(state, ownContext(claim));
  }

  /** Opens a backend's sealed state. Nothing is kept for it, so it can be used as often as the backend allows. */
  unseal(sealed: string, claim: Claim): string {
    const state = this.#seal.open(sealed, ownContext(claim));
    if (state === undefined) throw new Failure('invalid_request_state');
    return state;
  }

  /** The process that has the pending call of a retry. Undefined where the state is not ours, or names no call. */
  memberOf(state: string, claim: Claim): string | undefined {
    const plain = this.#seal.open(state, context(claim));
    return plain === undefined ? undefined : (JSON.parse(plain) as Sealed).member;
  }

  /** Whether the state is ours and belongs to this request, as opposed to a backend's own. Takes nothing. */
  isOurs(state: string, claim: Claim): boolean {
    return this.#seal.open(state, context(claim)) !== undefined;
  }

  /** A state that is altered, expired, used, or bound to a different claim leaves the pending call as it is. */
  async take(state: string, claim: Claim): Promise<ModernResponder | Anew> {
    const plain = this.#seal.open(state, context(claim));
    const sealed: Sealed = plain === undefined ? { expires: 0 } : (JSON.parse(plain) as Sealed);
    const { id = '', rounds, expires } = sealed;
    if (expires <= this.#clock.now()) throw new Failure('invalid_request_state');
    checkResponses(claim.request);
    if (rounds !== undefined) return { rounds };
    // Of two concurrent retries, possibly at two replicas, only one gets the call.
    const lease = await this.#lease.take(`parked/${id}`, this.#limits.parkedMs);
    const parked = lease && this.#parked.get(id);
    if (parked !== undefined) this.#remove(id);
    // Removal marks the call as taken, so the lease is not needed any more. Kept leases could be piled up by clients,
    // and a lease kept at a replica without the call would block the replica that has it.
    void lease?.release();
    if (parked === undefined) throw new Failure('invalid_request_state');
    parked.stopWaiting();
    return parked.responder;
  }

  /** Ends pending calls whose backend or endpoint is gone. */
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
    this.#perPrincipal.add(parked.holder, -1);
    this.#perBackend.add(parked.backend, -1);
  }
}

/**
 * Answers go to the backend as results of its server requests, which are objects. Others are refused while the call is
 * still pending, so that the client can try again. Answers without a matching server request are ignored later.
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

/** Principal, path, method and parameters: with any of them changed, the state does not open. */
function context({ principal, endpoint, request }: Claim): string {
  const { bytes, params, method } = request;
  const fixed = params === undefined ? '{}' : canonicalMembers(bytes, params, variable);
  return JSON.stringify(['bascule/parked', principal.key, endpoint, method, fixed]);
}
