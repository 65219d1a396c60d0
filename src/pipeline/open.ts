/** The open stage: begins the response and the exchange, and ends the exchanges that outlive a shutdown. */
import type { Failure } from '../errors/failure.ts';
import { Exchange } from '../exchange/exchange.ts';
import { LinkedList } from '../exchange/linked-list.ts';
import type { Outlet, OutletOptions } from '../exchange/outlet.ts';
import { type Downstream, StreamsDownstream } from '../session/downstream.ts';
import { Session, type SessionFacts } from '../session/session.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { hasPolling, type Revision } from '../wire/revisions.ts';
import type { RequestContext } from './context.ts';
import type { SharedServices } from './services.ts';

const ping = methodRow('ping') as MethodRow;

export class OpenExchanges {
  readonly #shared: SharedServices;
  /** Of modern clients. Those of a legacy client belong to its session. */
  readonly #running = new LinkedList<Exchange>();
  readonly #settled = (exchange: Exchange): void => {
    if (this.#running.remove(exchange)) this.#shared.work.end();
  };

  constructor(shared: SharedServices) {
    this.#shared = shared;
  }

  /** False where no response could be opened. */
  open(context: RequestContext): boolean {
    const { reply, era, session, row } = context;
    const longLived = era === 'modern' && row.longLived === true;
    const [outlet] = reply.open({ era, requests: 1, batch: false, longLived, stream: session && streamOf(session) });
    if (outlet === undefined) return false;
    if (session === undefined) this.#openModern(context, outlet);
    else this.openInSession(context, session, outlet);
    return true;
  }

  openInSession(context: RequestContext, session: Session, outlet: Outlet): void {
    const { request } = context;
    // An unknown method is reported through the exchange, like every other failure.
    const exchange = new Exchange(request, methodRow(request.method) ?? ping, outlet, session.settled);
    session.inflight.add(exchange);
    this.#shared.work.begin();
    this.#opened(context, exchange);
  }

  #openModern(context: RequestContext, outlet: Outlet): void {
    const { connection, request, row, listen } = context;
    const settled =
      connection === undefined && listen === undefined
        ? this.#settled
        : (over: Exchange) => {
            connection?.inflight.remove(over);
            listen?.settled(over);
            this.#settled(over);
          };
    const exchange = new Exchange(request, row, outlet, settled);
    this.#opened(context, exchange);
    connection?.inflight.add(exchange);
    // A shutdown ends subscriptions first, and does not wait for them.
    if (listen !== undefined) listen.opened(context);
    else {
      this.#running.add(exchange);
      this.#shared.work.begin();
    }
    outlet.onAbandoned(() => exchange.cancel());
  }

  #opened(context: RequestContext, exchange: Exchange): void {
    context.exchange = exchange;
    if (context.observer !== undefined) exchange.observer = context;
  }

  /** Fails the requests of modern clients that did not finish in time. */
  abort(failure: Failure): void {
    for (const exchange of this.#running.members()) exchange.abort(failure);
  }
}

/** A session whose exchanges are work until they are settled: `openInSession` has begun it. */
export function newSession(shared: SharedServices, facts: SessionFacts, to: Downstream): Session {
  const { limits, clock, work, sessionRecords } = shared;
  const session = new Session(facts, to, limits, clock);
  if (facts.seal !== undefined) session.records = sessionRecords;
  session.onSettled = work.ended;
  return session;
}

/** Over HTTP the response can become a stream that a legacy client may resume. */
export function streamOf({ downstream }: Session): OutletOptions['stream'] {
  return downstream instanceof StreamsDownstream ? () => downstream.open() : undefined;
}

/** 48 random bits: two sessions do not get the same tag by accident. The tag need not be unguessable. */
const STREAM_TAG_CHARACTERS = 8;

/** The streams of one session over Streamable HTTP. `isContinued`: it began elsewhere. */
export function newStreams(
  { newId, events, limits }: SharedServices,
  sessionId: string,
  revision: Revision,
  isContinued = false,
): StreamsDownstream {
  const tag = newId().slice(0, STREAM_TAG_CHARACTERS);
  return new StreamsDownstream({ sessionId, tag, polls: hasPolling(revision), isContinued }, events, limits);
}
