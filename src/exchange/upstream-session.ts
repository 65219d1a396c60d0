/**
 * The standing relation to one backend. A modern backend is stateless, so all clients share one upstream session. A legacy one
 * is opened with `initialize`: for one client session, or for modern clients of one principal with the same capabilities.
 */
import type { Failure } from '../errors/failure.ts';
import type { Principal } from '../identity/principal.ts';
import type { Permit } from '../policy/permit.ts';
import type { Notification } from '../wire/message.ts';
import type { Era, Revision } from '../wire/revisions.ts';
import type { ListKind } from '../wire/subscription-filter.ts';
import type { GatewayRoute } from '../wire/via.ts';
import type { Call, CallRequest, CallSink, ClientFacts, ServerRequest } from './call.ts';

/** What a backend says of itself, from `server/discover` or from `initialize`. Members that we do not know survive in the objects. */
export interface Discovery {
  /** The eras that it speaks. A legacy client is served by the legacy half of a dual backend, so that nothing needs translation. */
  readonly eras: readonly Era[];
  /** The revision agreed on (legacy), or the newest modern one that both have. */
  readonly revision: Revision;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly serverInfo: Readonly<Record<string, unknown>> | undefined;
  readonly instructions: string | undefined;
  /** Members of the result that are none of the above. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** Who hears what belongs to no call. */
export interface UpstreamSessionSink {
  notify(notification: Notification): void;
  ask(ask: ServerRequest): void;
  /** The upstream session is gone and will not come back: 404, or the process ended. Calls in flight were settled before. */
  lost(failure: Failure): void;
  /** What the backend says outside any call is not heard for now, and subscriptions cannot be honoured. The session goes on. */
  silenced?(failure: Failure): void;
}

/** Whether what a backend says outside any call is heard. `lost`: not at the moment. `never`: the backend has no way to say it. */
export type Hearing = 'heard' | 'lost' | 'never';

export interface UpstreamSession {
  readonly era: Era;
  readonly discovery: Discovery;
  /**
   * Whether an ask that comes on this lane says which call it belongs to. Over HTTP the POST stream tells; on stdio nothing
   * does, so a call that may ask must be alone on the lane.
   */
  readonly attributesAsks: boolean;
  /** Absent where it is always heard, or is nobody's business: modern backends are asked for a stream by each listener. */
  readonly hearing?: Hearing;
  /** Resolves when the backend's standalone stream has been opened, or is not to be had for now. */
  whenHeard?(): Promise<void>;
  call(permit: Permit, request: CallRequest, sink: CallSink): Call;
  /** Passes on a client's notification. Absorbed where the backend's era has no such thing. */
  notify(permit: Permit, notification: Notification): void;
  close(): void;
}

/**
 * Processes of a stdio backend that serve lists and nothing else, for client sessions that have no process of their own yet. Each
 * is shared by the sessions that the backend cannot tell apart: same credentials, same agreed revision, same declared
 * capabilities. Nothing that a client does in a call can change what they show.
 */
export interface ListProcesses {
  /** Equal for clients that share a process. */
  keyOf(client: ClientFacts): string;
  /** Started where there is none. Rejects with a Failure. */
  open(client: ClientFacts): Promise<UpstreamSession>;
  /** What such a process said of itself to clients like this one, where one runs. */
  discoveryFor(client: ClientFacts): Discovery | undefined;
  /** Hears which lists may be others than before, by key. Returns how to hear no more. */
  onChange(listener: (key: string, lists: readonly ListKind[]) => void): () => void;
  /** One session that wants to hear of changes: its process is not idle. Returns how to hear no more. */
  hear(client: ClientFacts, listener: (kind: ListKind) => void): () => void;
}

/** Where a backend stands, for people and for `/readyz`. */
export type BackendState =
  | { readonly state: 'starting' }
  /** Each principal presents something of their own, and nobody has reached it yet. */
  | { readonly state: 'personal' }
  | { readonly state: 'ready'; readonly discovery: Discovery }
  /** It is there, and wants something else than we have in hand: a person's consent, for example. */
  | { readonly state: 'refused'; readonly failure: Failure }
  | { readonly state: 'down'; readonly failure: Failure };

export interface Backend {
  readonly name: string;
  readonly state: BackendState;
  /** What was found out last, also while it is down or in doubt. Undefined until it was reached once. */
  readonly lastDiscovery: Discovery | undefined;
  /** The gateways that it says are behind it (wire/via.ts); none where it leads back to this one and is not used. */
  readonly behind?: readonly GatewayRoute[];
  /** Everybody's lane to a modern backend, for as long as what was found out is fresh and nothing speaks against it. */
  readonly modern: UpstreamSession | undefined;
  /** Where each legacy session has a process of its own, and lists can be read without one. */
  readonly lists?: ListProcesses | undefined;
  /** Its owner says that it keeps nothing between calls: a session does not end with its process. */
  readonly isStateless?: boolean;
  /** Hears every change of `state`, and nothing twice; what a listener throws harms nobody. Returns how to hear no more. */
  onChange(listener: (state: BackendState) => void): () => void;
  /**
   * What the backend is, from the cache while that is fresh; probes otherwise. Rejects with a Failure, and at once while the
   * backend is down: it is looked after in the background then. Concurrent callers share one probe. With `legacy` it is found
   * out first whether a modern backend speaks that era, too, where that is not known.
   */
  discover(wanted?: Era): Promise<Discovery>;
  /**
   * Opens a lane of an era that the backend has. Legacy: `initialize` with the client's facts. Rejects with a Failure. `owner`:
   * the principal that a process counts for, where it needs one.
   */
  open(
    permit: Permit,
    era: Era,
    client: ClientFacts,
    sink: UpstreamSessionSink,
    owner?: string,
  ): Promise<UpstreamSession>;
  /**
   * Where each principal presents something of their own to it: the way of one of them, with a state, a discovery and lanes of
   * its own. What stands here is then what was found out last by anybody.
   */
  ownOf?(principal: Principal): Backend;
  /** What was refused to a principal may be given now. */
  lookAgain?(principalKey: string): void;
  /** Ends processes and connections, in the specification's order; resolves when they are gone. */
  close(): Promise<void>;
}
