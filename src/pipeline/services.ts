/** What the spine is built from. Made in assemble.ts. */

import type { Parking } from '../bridge/pending-calls.ts';
import type { Fault, Warn } from '../bridge/responder.ts';
import type { Shelf } from '../catalog/list-cache.ts';
import type { Lists } from '../catalog/lists.ts';
import type { Targets } from '../catalog/name-resolver.ts';
import type { Config } from '../config/config.ts';
import type { Clock } from '../exchange/clock.ts';
import type { ToolHeaders } from '../exchange/tool-headers.ts';
import type { Door } from '../identity/authenticator.ts';
import type { RpcService } from '../jsonrpc/ports.ts';
import type { Sessions } from '../session/sessions.ts';
import type { EventLog } from '../store/ports.ts';
import type { Hub } from '../subscriptions/list-change-notifier.ts';
import type { Backends } from '../upstream/backends.ts';
import type { Lanes } from '../upstream/upstream-pool.ts';
import type { Occupied } from './backend-in-flight.ts';
import type { Tenure } from './credential-expiry.ts';
import type { InForce } from './generation.ts';
import type { Work } from './in-flight.ts';
import type { Consenting } from './interceptors/consent.ts';

export interface Rooms {
  readonly limits: Config['limits'];
  readonly backends: Backends;
  /** What is no MCP server. */
  readonly services: ReadonlyMap<string, RpcService>;
  readonly door: Door;
  readonly tenure: Tenure;
  readonly inForce: InForce;
  readonly occupied: Occupied;
  readonly lanes: Lanes;
  readonly sessions: Sessions;
  readonly parking: Parking;
  readonly toolHeaders: ToolHeaders;
  /** What follows is for endpoints with several backends. */
  readonly shelf: Shelf;
  readonly lists: Lists;
  readonly targets: Targets;
  readonly hub: Hub;
  readonly events: EventLog;
  readonly work: Work;
  /** Absent where no backend wants anybody's consent. */
  readonly consenting: Consenting | undefined;
  readonly clock: Clock;
  /** Unguessable, visible ASCII, at least 128 random bits. */
  readonly newId: () => string;
  /** What this gateway calls itself towards HTTP backends. A request that comes with it is its own. */
  readonly instance: string;
  readonly fault: Fault;
  readonly warn: Warn;
  /** What was survived is counted. */
  readonly count: (name: string) => void;
}
