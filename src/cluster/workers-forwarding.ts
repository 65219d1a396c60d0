/** Which requests belong to another worker, and how they get there. The stage between authentication and session. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ForwardedFrom, Forwarding, Passing } from '../downstream/forwarding.ts';
import { headersOf } from '../downstream/request-headers.ts';
import { ENVELOPE_HEADER, type EnvelopePorts, Envelopes } from './envelope.ts';
import { type Forwarded, forward, respondUnavailable } from './forward.ts';
import { type Seat, socketOf } from './seat.ts';

/** How long a worker may take to be replaced, and how often to look. */
const REPLACED_MS = 10_000;
const LOOK_MS = 50;

export class WorkersForwarding implements Forwarding {
  readonly member: string;
  readonly door: { readonly path: string };
  readonly #seat: Seat;
  readonly #envelopes: Envelopes;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 64 });

  constructor(seat: Seat, ports: EnvelopePorts) {
    this.#seat = seat;
    this.#envelopes = new Envelopes(ports);
    this.member = String(seat.number);
    this.door = { path: socketOf(seat, seat.number) };
  }

  take(passing: Passing): boolean {
    const member = passing.res.forwarded === undefined ? memberOf(passing) : undefined;
    const seat = member === undefined ? this.#seat.number : this.#seatOf(member);
    if (seat === this.#seat.number) return false;
    void this.#forward(passing, seat);
    return true;
  }

  accept(req: IncomingMessage): ForwardedFrom | undefined {
    const text = req.headers[ENVELOPE_HEADER];
    const asked = { to: this.member, method: req.method ?? '', url: req.url ?? '' };
    return typeof text === 'string' ? this.#envelopes.open(text, asked) : undefined;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #forward({ res, sender, body }: Passing, seat: number): Promise<void> {
    const { req, shared } = res;
    const socketPath = socketOf(this.#seat, seat);
    const deadline = Date.now() + REPLACED_MS;
    for (;;) {
      const envelope = this.#envelopes.write({
        ...{
          from: this.member,
          to: String(seat),
          method: req.method ?? '',
          url: req.url ?? '',
          principal: sender.principal.key,
        },
        address: shared.currentGeneration.now.addresses.of(req),
      });
      const outcome: Forwarded = await forward(res, {
        dial: (options) => request({ ...options, socketPath }),
        ...{ agent: this.#agent, more: [ENVELOPE_HEADER, envelope], body },
      });
      if (outcome.kind === 'answered') return;
      // Nothing was sent: the worker is being replaced.
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
