/** What the stages share and what outlives a generation. Created in app/shared-services.ts. */

import type { Approvals } from '../approvals/ports.ts';
import type { PendingCalls } from '../bridge/pending-calls.ts';
import type { Fault } from '../bridge/responder.ts';
import type { ListCost } from '../budget/plan.ts';
import type { ListCache } from '../catalog/list-cache.ts';
import type { Lists } from '../catalog/lists.ts';
import type { NameResolver } from '../catalog/name-resolver.ts';
import type { Config } from '../config/config.ts';
import type { Clock } from '../exchange/clock.ts';
import type { MessageObserver } from '../exchange/observer.ts';
import type { ToolHeaders } from '../exchange/tool-headers.ts';
import type { MessageTracer } from '../exchange/trace.ts';
import type { Warn } from '../observe/ports.ts';
import type { SessionTransport } from '../observe/watchers.ts';
import type { Session } from '../session/session.ts';
import type { SessionRecords } from '../session/session-records.ts';
import type { SessionSeal } from '../session/session-seal.ts';
import type { Sessions } from '../session/sessions.ts';
import type { EventLog } from '../store/ports.ts';
import type { ListChangeNotifier } from '../subscriptions/list-change-notifier.ts';
import type { TaskIds } from '../tasks/task-id.ts';
import type { UpstreamLease, UpstreamPool } from '../upstream/upstream-pool.ts';
import type { MetGateways } from '../wire/via.ts';
import type { RequestContext } from './context.ts';
import type { CredentialExpiry } from './credential-expiry.ts';
import type { CurrentGeneration } from './generation.ts';
import type { BackendInFlight, InFlight } from './in-flight.ts';
import type { SessionUpstreams } from './session-upstreams.ts';

export interface SharedServices {
  readonly limits: Config['limits'];
  readonly credentialExpiry: CredentialExpiry;
  readonly currentGeneration: CurrentGeneration;
  readonly backendInFlight: BackendInFlight;
  readonly upstreams: UpstreamPool;
  readonly sessions: Sessions;
  readonly sessionRecords: SessionRecords;
  /** This process, where the gateway has several. */
  readonly member: string;
  /** Seals the ids of sessions. Made for the first one. */
  readonly sessionSeal: () => SessionSeal;
  /** Made at the first task: its key is read or made then. */
  readonly taskIds: () => TaskIds;
  readonly pendingCalls: PendingCalls;
  readonly approvals: ApprovalDesk;
  readonly toolHeaders: ToolHeaders<UpstreamLease>;
  readonly listCache: ListCache;
  readonly lists: Lists;
  /** By the paths of endpoints with a budget: what the list of tools that was made last costs. */
  readonly toolLists: Map<string, ListCost>;
  readonly nameResolver: NameResolver;
  readonly listChanges: ListChangeNotifier;
  readonly events: EventLog;
  readonly work: InFlight;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  /** Unguessable, visible ASCII, at least 128 random bits. */
  readonly newId: () => string;
  /**
   * The id of this gateway in its requests to HTTP backends. A request that arrives with this id came from the gateway
   * itself.
   */
  readonly instance: string;
  readonly metGateways: MetGateways;
  readonly fault: Fault;
  readonly warn: Warn;
  /** Absent where nothing observes messages. */
  readonly observer?: MessageObserver<RequestContext> | undefined;
  /** Is told of sessions that another process opened, or this one before a restart. */
  readonly sessionContinued: (session: Session) => void;
  /** Is told of the end of sessions that clients were given. */
  readonly sessionEnded: (session: Session, via: SessionTransport) => void;
  /** Absent where traces are not configured. */
  readonly tracer?: MessageTracer<RequestContext> | undefined;
  /** The same observer, and that of traces: for messages whose trace is exported. */
  readonly sampledObserver?: MessageObserver<RequestContext> | undefined;
  /** Counts an event that the gateway recovered from. */
  readonly count: (name: string) => void;
}

/** Where approvals are. Their code is loaded at the first question. */
export interface ApprovalDesk {
  open(): Promise<Approvals>;
  /** The page where this question is answered. Undefined where there is no console. */
  pageOf(id: string): string | undefined;
}

/** What every stage is handed. */
export interface StageServices {
  readonly shared: SharedServices;
  readonly sessionUpstreams: SessionUpstreams;
}
