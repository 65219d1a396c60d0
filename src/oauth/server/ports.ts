/** What the authorization server needs from the rest of the gateway. */

import type { FilePort } from '../../identity/watched-file.ts';
import type { WallClock, Warn } from '../../observe/ports.ts';
import type { AttemptCounts } from '../../store/counts.ts';
import type { Records, Seal } from '../../store/ports.ts';
import type { SingleFlight } from '../client/single-flight.ts';
import type { OutwardFetch } from '../fetch/fetch.ts';
import type { ProviderFetch } from '../openid/provider.ts';

export interface AuthServerOutside {
  /** Durable, and sealed if so configured. Holds keys, grants and registrations. */
  readonly records: Records;
  /** For cookies. */
  readonly seal: Seal;
  readonly time: WallClock;
  /** Counts wrong passwords, and requests that anybody may send. */
  readonly attempts: AttemptCounts;
  readonly warn: Warn;
  /** A sign-in failed: wrong name or password, or too many attempts. For the log. */
  readonly refused: (why: 'wrong' | 'wait', address: string) => void;
  /** For URLs that a client named: it refuses those that lead to internal addresses. */
  readonly outwardFetch: OutwardFetch;
  /** For the provider from the config. */
  readonly providerFetch: (issuer: string) => ProviderFetch;
  readonly flights: Pick<SingleFlight, 'once'>;
  readonly userFileAt: (path: string) => FilePort;
}
