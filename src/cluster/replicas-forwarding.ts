/**
 * Which requests belong to another replica, and how they get there. The stage between authentication and session.
 *
 * A session is at the process that opened it, or at one that took it over. A process that does not have a session says
 * so (421), and where it is if it knows. A process that leaves keeps what waits for an answer and gives away the rest.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Forwarding, OpenDoor, Passing } from '../downstream/forwarding.ts';
import { headersOf } from '../downstream/request-headers.ts';
import { respondEmpty, respondFailure } from '../downstream/respond.ts';
import { Failure } from '../errors/failure.ts';
import type { SessionOrigin, SessionPlaces } from '../exchange/arrival.ts';
import type { Batch, Message } from '../wire/message.ts';
import { type Forwarded, MOVED_HEADER, MOVED_STATUS, respondUnavailable } from './forwarded.ts';
import type { Owners } from './owners.ts';
import { ReplicaCarrier, type ReplicaCarrierPorts } from './replica-carrier.ts';

/** How often to look whether a process that does not answer is gone. */
const LOOK_MS = 100;
/** Beyond the lease: the other processes have noticed by then. */
const SLACK_MS = 2_000;
/** A request that is sent from one process to the next so often is sent in a circle. */
const MOST_HOPS = 6;
const FOREIGN = 'the process that has the session is of another version';

export interface ReplicasPorts extends ReplicaCarrierPorts {
  readonly owners: Owners;
  readonly leaseMs: number;
  /** Opens the port for the others. */
  readonly open: Forwarding['open'];
}

export class ReplicasForwarding implements Forwarding {
  readonly member: string;
  readonly #ports: ReplicasPorts;
  readonly #carrier: ReplicaCarrier;

  constructor(ports: ReplicasPorts) {
    this.#ports = ports;
    this.#carrier = new ReplicaCarrier(ports);
    this.member = ports.members.own;
  }

  open(...door: Parameters<Forwarding['open']>): Promise<OpenDoor> {
    return this.#ports.open(...door);
  }

  take(passing: Passing): boolean {
    const { res, endpoint, sender, boundTo, message } = passing;
    const { members, owners } = this.#ports;
    const { gateway } = res.shared;
    const isClients = res.forwarded === undefined;
    const id = boundTo === undefined ? res.req.headers['mcp-session-id'] : undefined;
    if (typeof id !== 'string') {
      const member = boundTo ?? (message && gateway.memberOfRetry({ endpoint, sender, message }));
      if (member !== undefined) return isClients && this.#takeBound(passing, member);
      const other = isClients && members.isLeaving ? members.another() : undefined;
      return other !== undefined && this.#begin(passing, this.#try(passing, other));
    }
    const isHere = gateway.places.has(id);
    if (isHere && !members.isLeaving && !owners.isDoubtful(id) && !this.#isOfPrevious(passing, id)) return false;
    // An id that is not ours is refused here.
    if (!isHere && this.#originOf(passing) === undefined) return false;
    return this.#begin(passing, isClients ? this.#route(passing, id) : this.#answer(passing, id));
  }

  /** To be called now and then. */
  async look(places: SessionPlaces): Promise<void> {
    for (const id of this.#ports.owners.doubtful) await this.#hasLost(places, id);
    await this.#carrier.look();
  }

  close(): void {
    this.#carrier.close();
  }

  #begin({ res }: Passing, doing: Promise<void>): true {
    doing.catch((error: unknown) => {
      const failure = error instanceof Failure ? error : new Failure('owner_unavailable', { cause: error });
      if (!res.headersSent && !res.gone) respondFailure(res, failure, { era: 'legacy' });
    });
    return true;
  }

  /** A connection, or a pending call, is at one process and nowhere else. */
  #takeBound(passing: Passing, member: string): boolean {
    // Without that process it is gone: this one says so.
    if (member === this.member || this.#ports.members.stateOf(member) === 'gone') return false;
    return this.#begin(passing, this.#bound(passing, member));
  }

  async #bound(passing: Passing, member: string): Promise<void> {
    for (const until = this.#deadline(); ; await sleep(LOOK_MS)) {
      const outcome = await this.#carrier.carry(passing, member);
      if (outcome.kind === 'answered') return;
      if (outcome.kind === 'moved' || this.#ports.members.stateOf(member) === 'gone') return passing.serve();
      if (outcome.kind === 'cut' || Date.now() > until) return respondUnavailable(passing.res, outcome.cause);
    }
  }

  /** Has another process serve it, or serves it here. */
  async #try(passing: Passing, member: string): Promise<void> {
    const outcome = await this.#carrier.carry(passing, member);
    if (outcome.kind === 'cut') respondUnavailable(passing.res, outcome.cause);
    else if (outcome.kind !== 'answered') passing.serve();
  }

  /** A request that another process has handed over. It is never passed on. */
  async #answer(passing: Passing, id: string): Promise<void> {
    const { owners, members } = this.#ports;
    const { res } = passing;
    const { places } = res.shared.gateway;
    if (places.has(id) && !(await this.#hasLost(places, id))) {
      if (this.#isOfPrevious(passing, id)) return respondMoved(passing, owners.previousOf(id));
      if (members.isLeaving && !(await this.#isKept(passing, id))) return respondMoved(passing, owners.found(id));
      return passing.serve();
    }
    const origin = this.#originOf(passing);
    if (origin === undefined) return passing.serve();
    // The store may be closed already.
    if (members.isLeaving) return respondMoved(passing, owners.found(id));
    const recorded = await owners.read(id);
    const owner = recorded ?? origin.member;
    if (owner === this.member) return passing.serve();
    const isGiven =
      (res.forwarded?.takesOver === true && res.forwarded.from === owner) || members.stateOf(owner) === 'gone';
    if (isGiven && origin.until !== undefined) {
      if (await owners.claim(id, recorded, owner, origin.until)) return passing.serve();
      return respondMoved(passing, await owners.read(id));
    }
    respondMoved(passing, owner);
  }

  /** A request of a client: finds the process that has its session, or takes the session over. */
  async #route(passing: Passing, id: string): Promise<void> {
    const { owners, members } = this.#ports;
    const { places } = passing.res.shared.gateway;
    const previous = owners.previousOf(id);
    if (previous !== undefined && this.#isOfPrevious(passing, id)) return this.#try(passing, previous);
    if (places.has(id) && !(await this.#hasLost(places, id))) {
      if (!members.isLeaving || (await this.#isKept(passing, id))) return passing.serve();
      if (owners.found(id) === undefined) return this.#giveAway(passing, id);
    }
    const origin = this.#originOf(passing) ?? { member: this.member, until: undefined };
    await this.#find(passing, id, origin);
  }

  /** Whether another process has taken the session over while this one was cut off. */
  async #hasLost(places: SessionPlaces, id: string): Promise<boolean> {
    const { owners, members } = this.#ports;
    if (!owners.isDoubtful(id)) return false;
    let owner: string | undefined;
    try {
      owner = (await owners.read(id)) ?? (await this.#recorded(places, id));
    } catch {
      // While the store is away, sessions go on where they are.
      return false;
    }
    owners.settle(id);
    if (owner === undefined || owner === this.member) return false;
    const until = places.untilOf(id);
    // The one that took it over is gone: the session goes on here.
    const isFree = members.stateOf(owner) === 'gone' && until !== undefined;
    if (isFree && (await owners.claim(id, owner, owner, until))) return false;
    places.release(id);
    owners.foundAt(id, owner);
    return true;
  }

  /** The record of a session that was taken over is lost with the store's data: others would take it over again. */
  async #recorded(places: SessionPlaces, id: string): Promise<string | undefined> {
    const { owners } = this.#ports;
    const from = owners.previousOf(id);
    const until = places.untilOf(id);
    if (from === undefined || until === undefined) return undefined;
    return (await owners.claim(id, undefined, from, until)) ? this.member : owners.read(id);
  }

  async #giveAway(passing: Passing, id: string): Promise<void> {
    const { owners, members } = this.#ports;
    const other = members.another();
    if (other === undefined) return passing.serve();
    const outcome = await this.#carrier.carry(passing, other, true);
    if (outcome.kind === 'answered') owners.foundAt(id, other);
    else if (outcome.kind === 'cut') respondUnavailable(passing.res, outcome.cause);
    else if (outcome.kind === 'moved' && outcome.to !== undefined && outcome.to !== this.member) {
      owners.foundAt(id, outcome.to);
      await this.#find(passing, id, { member: this.member, until: undefined });
    } else passing.serve();
  }

  async #find(passing: Passing, id: string, origin: SessionOrigin): Promise<void> {
    const { owners, members } = this.#ports;
    const { res } = passing;
    let next: string | undefined = owners.found(id) ?? origin.member;
    /** Was asked, and does not have it. */
    let last: string | undefined;
    let cause: Error = new Error('the process that has the session was not found');
    const until = this.#deadline();
    for (let hops = 0; hops < MOST_HOPS && Date.now() < until; ) {
      if (next === undefined || next === this.member || !(await this.#isAsked(next, passing))) {
        hops += 1;
        next = await this.#claim(id, origin, next ?? last);
        if (next === this.member) return passing.serve();
        continue;
      }
      const outcome: Forwarded = await this.#carrier.carry(passing, next);
      if (outcome.kind === 'answered') return owners.foundAt(id, next === origin.member ? undefined : next);
      if (outcome.kind === 'cut') return respondUnavailable(res, outcome.cause);
      last = next;
      if (outcome.kind === 'moved') {
        hops += 1;
        owners.foundAt(id, undefined);
        next = outcome.to;
      } else {
        cause = outcome.cause;
        // Until its lease has ended, the process may have the session and be cut off from this one alone.
        if (members.stateOf(next) === 'gone') next = undefined;
        else await sleep(LOOK_MS);
      }
    }
    // The process that waited for this answer is gone.
    if (passing.message !== undefined && isLate(passing.message)) respondEmpty(res, 202);
    else respondUnavailable(res, cause);
  }

  /** Whether to ask a process for its session. One that leaves is asked for what only it can do. */
  async #isAsked(member: string, passing: Passing): Promise<boolean> {
    const { members } = this.#ports;
    if (members.addressOf(member) === undefined) return false;
    if (members.stateOf(member) !== 'leaving' || passing.res.req.method === 'DELETE') return true;
    if (passing.message !== undefined && isLate(passing.message)) return true;
    return !(await passing.res.shared.gateway.places.canTake(passing));
  }

  /**
   * The process that has the session: this one, if it could be taken over. `last`: the process that was asked and does
   * not have it any more.
   */
  async #claim(id: string, { member, until }: SessionOrigin, last: string | undefined): Promise<string> {
    const { owners, members } = this.#ports;
    const recorded = await owners.read(id);
    const owner = recorded ?? member;
    if (owner === this.member) return owner;
    if (members.lastAddressOf(owner) === undefined) await members.refresh();
    if (members.stateOf(owner) === 'foreign') throw new Failure('owner_unavailable', { cause: new Error(FOREIGN) });
    if (owner !== last && members.addressOf(owner) !== undefined) return owner;
    // Only the process that is gone could serve it: this one says that it is not found.
    if (until === undefined) return this.member;
    if (members.isLeaving) return members.another() ?? this.member;
    return (await owners.claim(id, recorded, owner, until)) ? this.member : ((await owners.read(id)) ?? member);
  }

  /** An answer or a cancellation of something that the process asked which had the session before. */
  #isOfPrevious({ res, message }: Passing, id: string): boolean {
    const previous = this.#ports.owners.previousOf(id);
    if (previous === undefined || message === undefined || !isLate(message)) return false;
    if (this.#ports.members.stateOf(previous) === 'gone') return false;
    return !res.shared.gateway.places.awaits(id, message);
  }

  /** Of a process that leaves: what it still does for a session itself. */
  async #isKept({ res, message }: Passing, id: string): Promise<boolean> {
    const { places } = res.shared.gateway;
    if (res.req.method === 'DELETE') return true;
    if (message !== undefined && places.awaits(id, message)) return true;
    return !(await places.canMove(id));
  }

  #originOf({ res, endpoint, sender }: Passing): SessionOrigin | undefined {
    return res.shared.gateway.places.openedBy({ endpoint, sender, header: headersOf(res.req) });
  }

  #deadline(): number {
    return Date.now() + this.#ports.leaseMs + SLACK_MS;
  }
}

function respondMoved({ res }: Passing, to = ''): void {
  respondFailure(
    res,
    new Failure('session_moved', { http: { status: MOVED_STATUS, headers: { [MOVED_HEADER]: to } } }),
  );
}

/** What may come after the session has moved. */
function isLate(message: Message | Batch): boolean {
  if (message.kind === 'result' || message.kind === 'error') return true;
  return message.kind === 'notification' && message.method === 'notifications/cancelled';
}
