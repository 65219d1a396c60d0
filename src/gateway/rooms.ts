/** What the spine is built from. Made in main.ts, and in tests. */
import type { Config } from '../config/config.ts';
import type { Fault } from '../exchange/bridge/drive.ts';
import type { Parking } from '../exchange/bridge/parking.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Backend } from '../exchange/lane.ts';
import type { Lanes } from '../exchange/lanes.ts';
import type { Sessions } from '../exchange/sessions.ts';
import type { EventLog } from '../store/ports.ts';
import type { Work } from './work.ts';

export interface Rooms {
  readonly limits: Config['limits'];
  readonly backends: ReadonlyMap<string, Backend>;
  readonly lanes: Lanes;
  readonly sessions: Sessions;
  readonly parking: Parking;
  readonly events: EventLog;
  readonly work: Work;
  readonly clock: Clock;
  /** Unguessable, visible ASCII, at least 128 random bits. */
  readonly newId: () => string;
  readonly fault: Fault;
}
