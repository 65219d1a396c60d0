/** Which requests belong to another worker, and how they get there. The stage between authentication and session. */
import { rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Enter, Forwarding, OpenDoor, Passing } from '../downstream/forwarding.ts';
import { headersOf } from '../downstream/request-headers.ts';
import { respondUnavailable } from './forwarded.ts';
import { type HelloPorts, Hellos } from './lanes/hello.ts';
import { openLaneDoor } from './lanes/lane-door.ts';
import { Lanes } from './lanes/lanes.ts';
import { type Seat, socketOf } from './seat.ts';
import { SilentMembers } from './silent-members.ts';

/** How long a worker may take to be replaced, and how often to look. */
const REPLACED_MS = 10_000;
const LOOK_MS = 50;
/** How often to look for requests that wait for a worker which does not answer. */
const SILENT_LOOK_MS = 1_000;

export class WorkersForwarding implements Forwarding {
  readonly member: string;
  readonly #seat: Seat;
  readonly #hellos: Hellos;
  readonly #lanes: Lanes;
  readonly #looking: NodeJS.Timeout;

  constructor(seat: Seat, ports: HelloPorts) {
    this.#seat = seat;
    this.#hellos = new Hellos(ports);
    this.member = String(seat.number);
    const dial = (member: string) => connect(socketOf(seat, Number(member)));
    this.#lanes = new Lanes({ own: this.member, hellos: this.#hellos, dial });
    const silent = new SilentMembers(this.#lanes);
    this.#looking = setInterval(() => void silent.look(() => false), SILENT_LOOK_MS).unref();
  }

  open(enter: Enter, fault: (error: Error) => void): Promise<OpenDoor> {
    const path = socketOf(this.#seat, this.#seat.number);
    // Left by a process that was killed.
    rmSync(path, { force: true });
    return openLaneDoor(createServer(), { path }, { own: this.member, hellos: this.#hellos, enter, fault });
  }

  take(passing: Passing): boolean {
    const member = passing.res.forwarded === undefined ? memberOf(passing) : undefined;
    const seat = member === undefined ? this.#seat.number : this.#seatOf(member);
    if (seat === this.#seat.number) return false;
    this.#forward(passing, seat).catch((cause: Error) => respondUnavailable(passing.res, cause));
    return true;
  }

  close(): void {
    clearInterval(this.#looking);
    this.#lanes.close();
  }

  async #forward({ res, sender, body }: Passing, seat: number): Promise<void> {
    const deadline = Date.now() + REPLACED_MS;
    for (;;) {
      const carriage = { res, principal: sender.principal.key, body, takesOver: false };
      const outcome = await this.#lanes.carry(String(seat), carriage);
      if (outcome.kind === 'answered') return;
      // The worker is being replaced.
      if (outcome.kind !== 'away' || Date.now() > deadline) {
        respondUnavailable(res, outcome.kind === 'moved' ? new Error('the worker does not have it') : outcome.cause);
        return;
      }
      await sleep(LOOK_MS);
    }
  }

  /** With fewer workers than before a restart, several seats are one. */
  #seatOf(member: string): number {
    const seat = Number(member);
    return Number.isInteger(seat) && seat >= 0 ? seat % this.#seat.of : this.#seat.number;
  }
}

/** The worker that has what the request names. */
function memberOf({ res, endpoint, sender, boundTo, message }: Passing): string | undefined {
  if (boundTo !== undefined) return boundTo;
  const { gateway } = res.shared;
  const header = headersOf(res.req);
  const id = header('mcp-session-id');
  if (id !== undefined)
    return gateway.places.has(id) ? undefined : gateway.places.openedBy({ endpoint, sender, header })?.member;
  return message && gateway.memberOfRetry({ endpoint, sender, message });
}
