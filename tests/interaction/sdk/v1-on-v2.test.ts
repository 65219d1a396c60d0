/** The official client of the legacy era and servers that know 2026-07-28 alone. */
import { describeCrossing } from './crossing.ts';

describeCrossing('v1');
