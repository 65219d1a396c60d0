/** Which requests belong to another worker, and how they get there. The stage between authentication and session. */
import type { IncomingMessage } from 'node:http';
import type { ForwardedFrom, Forwarding } from '../downstream/forwarding.ts';
import type { HttpAnswer } from '../downstream/respond.ts';
import type { Authenticated } from '../exchange/arrival.ts';
import { ENVELOPE_HEADER, type EnvelopePorts, Envelopes } from './envelope.ts';
import { Forwarder } from './forward.ts';
import { type Seat, socketOf } from './seat.ts';

export class WorkersForwarding implements Forwarding {
  readonly member: string;
  readonly socket: string;
  readonly #seat: Seat;
  readonly #envelopes: Envelopes;
  readonly #forwarder = new Forwarder();

  constructor(seat: Seat, ports: EnvelopePorts) {
    this.#seat = seat;
    this.#envelopes = new Envelopes(ports);
    this.member = String(seat.number);
    this.socket = socketOf(seat, seat.number);
  }

  isElsewhere(member: string): boolean {
    return this.#seatOf(member) !== this.#seat.number;
  }

  forward(res: HttpAnswer, member: string, { principal }: Authenticated, body?: Uint8Array): void {
    const { req, shared } = res;
    const to = this.#seatOf(member);
    const envelope = this.#envelopes.write({
      ...{ to, method: req.method ?? '', url: req.url ?? '', principal: principal.key },
      address: shared.currentGeneration.now.addresses.of(req),
    });
    void this.#forwarder.forward(res, socketOf(this.#seat, to), [ENVELOPE_HEADER, envelope], body);
  }

  accept(req: IncomingMessage): ForwardedFrom | undefined {
    const text = req.headers[ENVELOPE_HEADER];
    const asked = { to: this.#seat.number, method: req.method ?? '', url: req.url ?? '' };
    return typeof text === 'string' ? this.#envelopes.open(text, asked) : undefined;
  }

  close(): void {
    this.#forwarder.close();
  }

  /** With fewer workers than before a restart, several seats are one. */
  #seatOf(member: string): number {
    const seat = Number(member);
    return Number.isInteger(seat) && seat >= 0 ? seat % this.#seat.of : this.#seat.number;
  }
}
