/**
 * The standing relation to one backend. A modern backend is stateless, so all clients share one upstream session. A
 * legacy one is opened with `initialize`: for one client session, or for modern clients of one principal with the same
 * capabilities.
 */
import type { Failure } from '../errors/failure.ts';
import type { Principal } from '../identity/principal.ts';
import type { Permit } from '../policy/permit.ts';
import type { HealthPhase } from '../upstream/health.ts';
import type { Notification } from '../wire/message.ts';
import type { Era, Revision } from '../wire/revisions.ts';
import type { ListKind } from '../wire/subscription-filter.ts';
import type { GatewayRoute } from '../wire/via.ts';
import type { Call, CallRequest, CallSink, ClientFacts, ServerRequest } from './call.ts';
import type { Trace } from './trace.ts';

/** What a backend says of itself, in `server/discover` or in `initialize`. Unknown members of the objects are kept. */
export interface Discovery {
  /**
   * The eras that the backend speaks. A legacy client gets the legacy side of a dual backend, so that nothing needs
   * translation.
   */
  readonly eras: readonly Era[];
  /** The revision agreed on (legacy), or the newest modern one that both have. */
  readonly revision: Revision;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serverInfo: Readonly<Record<string, unknown>> | undefined;
  readonly instructions: string | undefined;
  /**
   * The tasks of 2025-11-25 that clients of that revision are offered (wire/tasks.ts). Absent where there are none:
   * the capability means nothing in other revisions.
   */
  readonly coreTasks?: Readonly<Record<string, unknown>> | undefined;
  /** Members of the result that are none of the above. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** Receives what belongs to no call. */
export interface UpstreamSessionSink {
  notify(notification: Notification): void;
  ask(ask: ServerRequest): void;
  /**
   * The upstream session is gone and will not come back: 404, or the process ended. Its calls in flight are settled
   * already.
   */
  lost(failure: Failure): void;
  /**
   * What the backend sends outside any call is not received for now, so subscriptions cannot be honoured. The session
   * continues.
   */
  silenced?(failure: Failure): void;
}

/**
 * Whether what a backend sends outside any call is received. `lost`: not at the moment. `never`: the backend has no way
 * to send it.
 */
export type Hearing = 'heard' | 'lost' | 'never';

export interface UpstreamSession {
  readonly era: Era;
  readonly discovery: Discovery;
  /**
   * Whether a server request on this upstream session says which call it belongs to. Over HTTP it comes on the call's
   * POST stream. On stdio nothing says it, so a call that may ask must be the only one on its upstream session.
   */
  readonly attributesAsks: boolean;
  /** Absent where it is always received, or does not matter: each listener opens its own stream at a modern backend. */
  readonly hearing?: Hearing;
  /** Resolves when the backend's standalone stream is open, or cannot be opened for now. */
  whenHeard?(): Promise<void>;
  call(permit: Permit, request: CallRequest, sink: CallSink): Call;
  /** Passes on a client's notification. Dropped where the backend's era has no such notification. */
  notify(permit: Permit, notification: Notification, trace?: Trace): void;
  close(): void;
}

/**
 * Processes of a stdio backend that serve only lists, for client sessions that have no process of their own yet.
 * Sessions that the backend cannot tell apart share a process: same credentials, same agreed revision, same declared
 * capabilities. No client's call can change what these processes list.
 */
export interface ListProcesses {
  /** Equal for clients that share a process. */
  keyOf(client: ClientFacts): string;
  /** Starts the process where there is none. Rejects with a Failure. */
  open(client: ClientFacts): Promise<UpstreamSession>;
  /** What such a process said of itself to clients like this one, where one is running. */
  discoveryFor(client: ClientFacts): Discovery | undefined;
  /**
   * Calls the listener with the key and the lists that may have changed. Returns a function that removes the listener.
   */
  onChange(listener: (key: string, lists: readonly ListKind[]) => void): () => void;
  /**
   * Calls the listener for one session; its process does not count as idle then. Returns a function that removes the
   * listener.
   */
  hear(client: ClientFacts, listener: (kind: ListKind) => void): () => void;
}

/** The state of a backend, for people and for `/readyz`. */
export type BackendState =
  | { readonly state: 'starting' }
  /** Each principal presents its own credentials, and none has reached the backend yet. */
  | { readonly state: 'personal' }
  | { readonly state: 'ready'; readonly discovery: Discovery }
  /** The backend responds, but needs something that the gateway does not have: a person's consent, for example. */
  | { readonly state: 'refused'; readonly failure: Failure }
  | { readonly state: 'down'; readonly failure: Failure };

export interface Backend {
  readonly name: string;
  readonly state: BackendState;
  /** The latest discovery, also while the backend is down or suspect. Undefined until it was reached once. */
  readonly lastDiscovery: Discovery | undefined;
  /**
   * The gateways that the backend reports behind it (wire/via.ts); none where it leads back to this gateway and is not
   * used.
   */
  readonly behind?: readonly GatewayRoute[];
  /** The shared upstream session of a modern backend, while its discovery is fresh and no failure casts doubt on it. */
  readonly modern: UpstreamSession | undefined;
  /** When its last probe ended, by the clock of the gateway. Absent where each principal has its own. */
  readonly checkedAt?: number | undefined;
  /** The phase of its circuit breaker. Absent where each principal has its own. */
  readonly circuit?: HealthPhase | undefined;
  /** Processes that run or are being started. Absent where it has none. */
  readonly processes?: number | undefined;
  /** Set where each legacy session has its own process, and lists can be read without it. */
  readonly lists?: ListProcesses | undefined;
  /** The config says that the backend keeps no state between calls: a session does not end with its process. */
  readonly isStateless?: boolean;
  /**
   * Calls the listener once for every change of `state`; what a listener throws is ignored. Returns a function that
   * removes it.
   */
  onChange(listener: (state: BackendState) => void): () => void;
  /**
   * What the backend offers, from the cache while that is fresh; probes otherwise. Concurrent callers share one probe.
   * Rejects with a Failure; at once while the backend is down, because it is probed in the background then. With
   * `legacy`, finds out first whether a modern backend speaks that era, too, where that is not known.
   */
  discover(wanted?: Era): Promise<Discovery>;
  /**
   * Opens an upstream session in an era that the backend has. Legacy: `initialize` with the client's facts. Rejects
   * with a Failure. `owner`: the principal that the process counts for, where one is needed.
   */
  open(
    permit: Permit,
    era: Era,
    client: ClientFacts,
    sink: UpstreamSessionSink,
    owner?: string,
  ): Promise<UpstreamSession>;
  /**
   * Where each principal presents its own credentials: the backend as one principal uses it, with its own state,
   * discovery and upstream sessions. The members here then hold the latest discovery of any principal.
   */
  ownOf?(principal: Principal): Backend;
  /** Probes again, because the principal may have been given access. */
  lookAgain?(principalKey: string): void;
  /** Ends processes and connections, in the specification's order; resolves when they are gone. */
  close(): Promise<void>;
}
