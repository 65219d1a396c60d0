/** Open `subscriptions/listen` requests of modern clients: their number is limited, and they outlive their config. */
import { isMerged } from '../catalog/name-resolver.ts';
import { callStateless, ModernReader } from '../catalog/readers.ts';
import type { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Principal } from '../identity/principal.ts';
import { systemPermit } from '../policy/permit.ts';
import { checkListen, ListenSlots } from '../subscriptions/limits.ts';
import { MergedSubscription, type SubscriptionSources } from '../subscriptions/merged-subscription.ts';
import { ownNotification } from '../subscriptions/notifications.ts';
import { rewrite, spliceMessage } from '../wire/compose.ts';
import { extensionOfFilter } from '../wire/extensions.ts';
import type { Request } from '../wire/message.ts';
import { membersAt, skimMessage } from '../wire/skim.ts';
import { type ListKind, readFilter } from '../wire/subscription-filter.ts';
import { member } from '../wire/values.ts';
import { authorizeListen, type ListenAuthorization } from './authorize-listen.ts';
import type { ConfigChange } from './config-change.ts';
import type { ConnectionState } from './connection-state.ts';
import type { RequestContext } from './context.ts';
import { outlived } from './credential-expiry.ts';
import { hearsOf } from './interceptors/response-filter.ts';
import { discoverAll } from './merged.ts';
import type { Pipeline } from './pipeline.ts';
import { demandExtension } from './resolve-task.ts';
import type { SharedServices } from './services.ts';

interface OpenListen {
  readonly connection: ConnectionState | undefined;
  readonly principal: Principal;
  readonly place: Endpoint;
  /** Set where one backend alone stands behind the endpoint. */
  readonly backend: string | undefined;
}

/** A `subscriptions/listen` whose slot under `limits.listenStreams` is reserved. */
export interface Listen {
  /** Absent where there is no policy, rate limit or audit. */
  readonly authorization: ListenAuthorization | undefined;
  opened(context: RequestContext): void;
  settled(exchange: Exchange): void;
}

export class ModernListens {
  readonly #pipeline: Pipeline;
  readonly #shared: SharedServices;
  readonly #open = new Map<Exchange, OpenListen>();
  readonly #slots: ListenSlots;

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
    this.#shared = pipeline.shared;
    this.#slots = new ListenSlots(pipeline.shared.limits.listenStreams);
  }

  /** Reserves the slot before awaiting, so that concurrent requests cannot all pass the limit check. */
  async receive(context: RequestContext): Promise<void> {
    const { principal, authorizer } = context;
    context.request = withoutExtensionFilters(context);
    checkListen(context.request, this.#shared.limits);
    const release = this.#slots.take(principal);
    let isOpen = false;
    try {
      const authorization = authorizer.isOpen ? undefined : await authorizeListen(this.#pipeline, context);
      context.listen = this.#listen(authorization, release);
      isOpen = this.#pipeline.request(context);
    } finally {
      if (!isOpen) release();
    }
  }

  #listen(authorization: ListenAuthorization | undefined, release: () => void): Listen {
    let stopWatching: () => void = () => undefined;
    return {
      authorization,
      opened: ({ principal, endpoint, connection, exchange }) => {
        // From here on the exchange ends what was allowed, also where a later stage fails.
        exchange.watch(authorization);
        stopWatching = this.#shared.credentialExpiry.hold(principal, () => exchange.abort(outlived(principal)));
        const backend = isMerged(endpoint) ? undefined : endpoint.backends[0];
        const place = this.#shared.currentGeneration.place(endpoint);
        exchange.coalesceChanges(this.#shared.clock, this.#shared.limits.changesMs);
        this.#open.set(exchange, { connection, principal, place, backend });
      },
      settled: (exchange) => {
        stopWatching();
        this.#open.delete(exchange);
        release();
      },
    };
  }

  /** A clean end for every open subscription. */
  endAll(): void {
    for (const [exchange, { connection }] of [...this.#open]) exchange.endSubscription(connection !== undefined);
  }

  /** Ends the subscriptions of these principals. Returns how many there were. */
  revoke(isMeant: (principal: Principal) => boolean, failure: Failure): number {
    const meant = [...this.#open].filter(([, { principal }]) => isMeant(principal));
    for (const [exchange] of meant) exchange.abort(failure);
    return meant.length;
  }

  /**
   * A stream from one backend cannot become one from several, or from a different one: it ends, and its client listens
   * again.
   */
  renewed({ gone, closed, lists, isWelcome }: ConfigChange): void {
    for (const [exchange, { connection, principal, place, backend }] of [...this.#open]) {
      const { path } = place;
      const isOther = backend !== undefined && (gone.has(backend) || isMerged(place) || place.backends[0] !== backend);
      if (connection?.via !== 'stdio' && !closed.has(path) && !isWelcome(path, principal)) {
        exchange.abort(outlived(principal));
        continue;
      }
      if (backend !== undefined) tellChanges(exchange, lists.get(path) ?? []);
      if (isOther || closed.has(path)) exchange.endSubscription(connection !== undefined);
    }
  }
}

/**
 * Filters of extensions name things by ids that mean nothing to a backend, or are its own. They are not honoured, and
 * the acknowledgement says so. Throws where a client uses one without the extension.
 */
function withoutExtensionFilters({ request, client }: RequestContext): Request {
  const span = member(request.params, 'notifications');
  const filter = span && membersAt(request.bytes, span);
  const foreign = filter?.members.flatMap(({ key }) => extensionOfFilter(key) ?? []) ?? [];
  if (span === undefined || filter === undefined || foreign.length === 0) return request;
  for (const extension of foreign) demandExtension(client.capabilities, extension);
  const rest = rewrite(request.bytes, filter, { drop: (key) => extensionOfFilter(key) !== undefined });
  return skimMessage(spliceMessage(request, [{ span, with: rest }])) as Request;
}

/** One stream to the client for all backends behind the endpoint. */
export async function mergeListens(shared: SharedServices, context: RequestContext): Promise<void> {
  const { endpoint, exchange, principal, client, authorizer, listen } = context;
  const { upstreams, listChanges, nameResolver, clock, limits, currentGeneration } = shared;
  const reader = new ModernReader(upstreams, principal, client);
  const place = currentGeneration.place(endpoint);
  const first = context.authorization.permit;
  // The stream outlives its config. What it opens later follows from what was allowed, and each resource is
  // authorized again.
  const permit = () =>
    currentGeneration.now.authorizer === authorizer || !exchange.begun ? first : systemPermit('stream');
  const sources: SubscriptionSources = {
    place,
    discovery: await discoverAll(shared, endpoint, principal),
    client,
    clock,
    limits,
    hear: (hear, gone) => listChanges.hear(place, principal, hear, gone),
    locate: async (uri) => nameResolver.locate(endpoint, uri, reader),
    isModern: async (backend) => (await upstreams.discover(backend, principal)).eras.includes('modern'),
    mayHear: (backend, name) => {
      // Rules speak of resources by the addresses that the endpoint lists.
      const uri = nameResolver.resources.addressOf(place, { backend, name }, reader);
      return hearsOf({ authorizer: currentGeneration.now.authorizer, principal, endpoint: place, backend }, uri);
    },
    watch: (backend) => upstreams.watch(permit(), backend, principal, client),
    start: (backend, next, sink) => {
      const upstream = currentGeneration.now.backends.stateless(backend, principal);
      // What is opened after the acknowledgement is no part of the client's request.
      return callStateless(upstream, permit(), exchange.begun ? next : { ...next, trace: context.trace }, sink);
    },
  };
  await new MergedSubscription(exchange, sources, listen?.authorization?.message).begin();
}

/** Sends nothing before the acknowledgement, and only the kinds that the client asked for. */
function tellChanges(exchange: Exchange, kinds: readonly ListKind[]): void {
  const wanted = exchange.begun ? readFilter(exchange.request) : undefined;
  for (const { flag, method } of kinds) {
    if (wanted?.[flag] === true) exchange.sendSubscribed(ownNotification(method, {}));
  }
}
