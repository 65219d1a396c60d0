/** What the spine is built from. Made in assemble.ts. */
import type { Shelf } from '../catalog/shelf.ts';
import type { Config } from '../config/config.ts';
import type { Backends } from '../exchange/backends.ts';
import type { Consenting } from '../exchange/bridge/consent.ts';
import type { Fault, Warn } from '../exchange/bridge/drive.ts';
import type { Parking } from '../exchange/bridge/parking.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Lanes } from '../exchange/lanes.ts';
import type { RpcService } from '../exchange/rpc.ts';
import type { Sessions } from '../exchange/sessions.ts';
import type { ToolHeaders } from '../exchange/tool-headers.ts';
import type { Door } from '../identity/door.ts';
import type { EventLog } from '../store/ports.ts';
import type { Hub } from './hub.ts';
import type { InForce } from './in-force.ts';
import type { Lists } from './lists.ts';
import type { Occupied } from './occupied.ts';
import type { Targets } from './targets.ts';
import type { Tenure } from './tenure.ts';
import type { Work } from './work.ts';

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
