/**
 * Calls that wait for a modern client's answers. The client holds a sealed state that names the call; whoever brings it back
 * with the same request and as the same principal takes the call, once.
 */
import { Failure } from '../../errors.ts';
import type { Principal } from '../../identity/principal.ts';
import type { Lease, Seal } from '../../store/ports.ts';
import type { Request } from '../../wire/message.ts';
import { valueAt } from '../../wire/values.ts';
import type { Clock } from '../clock.ts';
import { canonical } from './canonical.ts';
import type { ModernDrive } from './modern-client.ts';

export interface ParkingLimits {
  /** How long a client may take to come back. */
  readonly parkedMs: number;
  readonly parkedPerPrincipal: number;
  readonly parkedTotal: number;
}

/** Who asked for what, and where: what a state is bound to. */
export interface Claim {
  readonly principal: Principal;
  /** The path of the address: others may have other rules. */
  readonly endpoint: string;
  readonly request: Request;
}

interface Parked {
  readonly drive: ModernDrive;
  readonly principal: string;
  readonly stopWaiting: () => void;
}

/** Of the parameters, what a retry may change: they are not part of what the state is bound to. */
const variable: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState']);

export class Parking {
  readonly #limits: ParkingLimits;
  readonly #clock: Clock;
  readonly #seal: Seal;
  readonly #lease: Lease;
  readonly #newId: () => string;
  readonly #parked = new Map<string, Parked>();
  readonly #perPrincipal = new Map<string, number>();

  constructor(limits: ParkingLimits, ports: { clock: Clock; seal: Seal; lease: Lease; newId: () => string }) {
    this.#limits = limits;
    this.#clock = ports.clock;
    this.#seal = ports.seal;
    this.#lease = ports.lease;
    this.#newId = ports.newId;
  }

  get size(): number {
    return this.#parked.size;
  }

  /** The state that brings the client back to the call, or why there is no room for it. */
  park(drive: ModernDrive, claim: Claim): string | Failure {
    const { principal } = claim;
    const mine = this.#perPrincipal.get(principal.key) ?? 0;
    if (this.#parked.size >= this.#limits.parkedTotal || mine >= this.#limits.parkedPerPrincipal) {
      return new Failure('too_many_parked');
    }
    const id = this.#newId();
    const expires = this.#clock.now() + this.#limits.parkedMs;
    const stopWaiting = this.#clock.after(this.#limits.parkedMs, () => {
      this.#remove(id);
      drive.abandon('The client did not come back');
    });
    this.#parked.set(id, { drive, principal: principal.key, stopWaiting });
    this.#perPrincipal.set(principal.key, mine + 1);
    return this.#seal.seal(JSON.stringify({ id, expires }), context(claim));
  }

  /** A state that was changed, is too old, was used, or is another's leaves the parked call as it is. */
  async take(state: string, claim: Claim): Promise<ModernDrive> {
    const plain = this.#seal.open(state, context(claim));
    const { id, expires } =
      plain === undefined ? { id: '', expires: 0 } : (JSON.parse(plain) as { id: string; expires: number });
    if (expires <= this.#clock.now()) throw new Failure('invalid_request_state');
    // Two retries at once, perhaps at two replicas: one of them has the call.
    const lease = await this.#lease.take(`parked/${id}`, this.#limits.parkedMs);
    const parked = lease && this.#parked.get(id);
    if (parked === undefined) throw new Failure('invalid_request_state');
    parked.stopWaiting();
    this.#remove(id);
    return parked.drive;
  }

  close(): void {
    for (const [id, { drive, stopWaiting }] of [...this.#parked]) {
      stopWaiting();
      this.#remove(id);
      drive.abandon('The gateway is shutting down');
    }
  }

  #remove(id: string): void {
    const parked = this.#parked.get(id);
    if (parked === undefined) return;
    this.#parked.delete(id);
    const left = (this.#perPrincipal.get(parked.principal) ?? 1) - 1;
    if (left === 0) this.#perPrincipal.delete(parked.principal);
    else this.#perPrincipal.set(parked.principal, left);
  }
}

/** Principal, address, method and parameters: a state that comes with any other of them does not open. */
function context({ principal, endpoint, request }: Claim): string {
  const params =
    request.params === undefined ? {} : (valueAt(request.bytes, request.params) as Record<string, unknown>);
  const fixed = Object.fromEntries(Object.entries(params).filter(([key]) => !variable.has(key)));
  return JSON.stringify(['bascule/parked', principal.key, endpoint, request.method, canonical(fixed)]);
}
