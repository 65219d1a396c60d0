/** The services that the stages share. Created in app/assemble.ts. */

import type { PendingCalls } from '../bridge/pending-calls.ts';
import type { Fault } from '../bridge/responder.ts';
import type { ListCache } from '../catalog/list-cache.ts';
import type { Lists } from '../catalog/lists.ts';
import type { NameResolver } from '../catalog/name-resolver.ts';
import type { Config } from '../config/config.ts';
import type { Clock } from '../exchange/clock.ts';
import type { ToolHeaders } from '../exchange/tool-headers.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import type { RpcService } from '../jsonrpc/ports.ts';
import type { Warn } from '../observe/ports.ts';
import type { Sessions } from '../session/sessions.ts';
import type { EventLog } from '../store/ports.ts';
import type { ListChangeNotifier } from '../subscriptions/list-change-notifier.ts';
import type { Backends } from '../upstream/backends.ts';
import type { UpstreamPool } from '../upstream/upstream-pool.ts';
import type { MetGateways } from '../wire/via.ts';
import type { BackendInFlight } from './backend-in-flight.ts';
import type { CredentialExpiry } from './credential-expiry.ts';
import type { CurrentGeneration } from './generation.ts';
import type { InFlight } from './in-flight.ts';
import type { ConsentWaiter } from './interceptors/consent.ts';

export interface SharedServices {
  readonly limits: Config['limits'];
  readonly backends: Backends;
  /** JSON-RPC services that are not MCP servers. */
  readonly services: ReadonlyMap<string, RpcService>;
  readonly authenticator: Authenticator;
  readonly credentialExpiry: CredentialExpiry;
  readonly currentGeneration: CurrentGeneration;
  readonly backendInFlight: BackendInFlight;
  readonly upstreams: UpstreamPool;
  readonly sessions: Sessions;
  readonly pendingCalls: PendingCalls;
  readonly toolHeaders: ToolHeaders;
  readonly listCache: ListCache;
  readonly lists: Lists;
  readonly nameResolver: NameResolver;
  readonly listChanges: ListChangeNotifier;
  readonly events: EventLog;
  readonly work: InFlight;
  /** Absent where no backend needs a person's consent. */
  readonly consenting: ConsentWaiter | undefined;
  readonly clock: Clock;
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
  /** Counts an event that the gateway recovered from. */
  readonly count: (name: string) => void;
}
