/** How a worker reaches the others. */

import type { Seat } from '../cluster/seat.ts';
import { WorkersForwarding } from '../cluster/workers-forwarding.ts';
import { createSealFor } from '../store/seal.ts';
import { newId } from './shared-services.ts';

export function workersForwarding(seat: Seat): WorkersForwarding {
  return new WorkersForwarding(seat, { seal: createSealFor('forward', seat.secret), timeOfDay: Date.now, newId });
}
