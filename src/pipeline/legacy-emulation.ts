/** Methods that a legacy client expects and a modern backend does not have: the gateway answers them itself. */
import { Failure } from '../errors/failure.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Permit } from '../policy/permit.ts';
import type { Session } from '../session/session.ts';
import { UpstreamSubscription, untagged } from '../subscriptions/upstream-subscription.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import { logLevelAt } from '../wire/log-level.ts';
import { eraHas } from '../wire/methods.ts';
import { nothingWanted } from '../wire/subscription-filter.ts';
import { member, textMember } from '../wire/values.ts';
import { unknownMethod } from './admit.ts';
import type { RequestContext } from './context.ts';
import type { SharedServices } from './services.ts';

/**
 * False where the backend has the method, and the request must be sent to it. Otherwise the exchange is or will be
 * settled here.
 */
export function emulateLegacy(
  shared: SharedServices,
  session: Session,
  context: RequestContext,
  upstream: UpstreamLease,
): boolean {
  const { exchange } = context;
  const { row } = exchange;
  if (row.method === 'logging/setLevel') return setLevel(session, exchange, upstream);
  if (eraHas(upstream.era, row)) return false;
  const { backend, message } = context.resolved;
  const uri = textMember(message.bytes, message.params, 'uri');
  if (row.action !== 'subscribe') exchange.fail(unknownMethod(exchange.request, 'legacy'));
  else if (uri === undefined) exchange.fail(new Failure('invalid_params', { message: 'uri is required' }));
  else if (row.method === 'resources/unsubscribe') {
    session.listenings.get(backend)?.unsubscribe(uri);
    exchange.respondResult('{}');
  } else {
    const listening = listeningOf(shared, session, context, upstream);
    listening.subscribe(uri).then(
      () => {
        // A client that cancelled has given its place under the limit back.
        if (exchange.settled && !session.subscriptions.at(backend).includes(uri)) listening.unsubscribe(uri);
        exchange.respondResult('{}');
      },
      (error: unknown) => exchange.fail(shared.fault(error)),
    );
  }
  return true;
}

/** Keeps the level for later requests: a modern backend gets it with each of them. */
function setLevel(session: Session, exchange: Exchange, upstream: UpstreamLease): boolean {
  if (!rememberLevel(session, exchange)) return true;
  if (upstream.era === 'legacy') return false;
  exchange.respondResult('{}');
  return true;
}

/** False where the level is unknown; the exchange has failed then. */
export function rememberLevel(session: Session, exchange: Exchange): boolean {
  const { bytes, params } = exchange.request;
  const level = logLevelAt(bytes, member(params, 'level'));
  if (level === undefined) exchange.fail(new Failure('invalid_params', { message: 'Unknown log level' }));
  else {
    session.logLevel = level;
    session.records?.changed(session);
  }
  return level !== undefined;
}

/** The newest permit of each subscription. */
const permits = new WeakMap<UpstreamSubscription, { permit: Permit }>();

function listeningOf(
  shared: SharedServices,
  session: Session,
  { resolved, authorization }: RequestContext,
  upstream: UpstreamLease,
): UpstreamSubscription {
  const { backend } = resolved;
  const { permit } = authorization;
  const existing = session.listenings.get(backend);
  // The permit of the first subscription may be older than the backend is by now.
  const current = { permit };
  if (existing !== undefined) {
    const kept = permits.get(existing);
    if (kept !== undefined && kept.permit.generation < permit.generation) kept.permit = permit;
    return existing;
  }
  // No list changes here: `ListChangeNotifier` reads them on one stream for all sessions.
  const listening = new UpstreamSubscription(nothingWanted, {
    client: session.client,
    clock: shared.clock,
    // A backend that was unavailable may have a new upstream session since.
    start: (request, sink) =>
      (shared.currentGeneration.now.backends.stateless(backend, session.principal) ?? upstream).call(
        current.permit,
        request,
        sink,
      ),
    deliver: (message, said) => {
      const passed = session.translate === undefined ? said : session.translate(backend, said);
      if (passed !== undefined && session.filter?.mayHear(session, backend, passed) !== false)
        session.tell(passed === said ? message : untagged(passed), passed);
    },
  });
  permits.set(listening, current);
  session.listenings.set(backend, listening);
  return listening;
}
