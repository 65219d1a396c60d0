/** The outside, as far as this room needs it; handed in. */

import type { WallClock, Warn } from '../../observe/ports.ts';
import type { Records } from '../../store/ports.ts';
import type { OutwardFetch } from '../fetch/fetch.ts';

export interface UserFilePort {
  /** Changes whenever the file does; undefined where there is none. */
  stamp(): string | undefined;
  read(): string;
}

export interface AuthServerOutside {
  /** Durable, and sealed where that is wanted: keys, grants and registrations are kept in it. */
  readonly records: Records;
  readonly time: WallClock;
  readonly warn: Warn;
  /** A sign-in failed: wrong name or password, or too many attempts. For the log. */
  readonly refused: (why: 'wrong' | 'wait', address: string) => void;
  /** The one for addresses that somebody else named: it refuses those that lead inside. */
  readonly outwardFetch: OutwardFetch;
  readonly userFileAt: (path: string) => UserFilePort;
}
