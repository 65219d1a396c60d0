/** The official client of 2026-07-28 and servers that were written before there was such a revision. */
import { describeCrossing } from './crossing.ts';

describeCrossing('v2');
