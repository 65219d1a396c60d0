/**
 * What is each worker's own: its part of the calls that may run at the same time, and its audit file. Workers do not
 * ask each other with every call, so each has its part of that limit.
 */
import { parse } from 'node:path';
import type { Seat } from '../cluster/seat.ts';
import type { AuditTarget } from '../observe/audit.ts';
import type { RateSettings } from '../policy/rates.ts';

/** Which worker this is, and of how many. */
export type WorkerPlace = Pick<Seat, 'number' | 'of'>;

export function shareOfConcurrency(rates: readonly RateSettings[], { of }: WorkerPlace): readonly RateSettings[] {
  return rates.map(({ concurrent, ...rate }) => ({
    ...rate,
    ...(concurrent !== undefined && { concurrent: Math.max(1, Math.floor(concurrent / of)) }),
  }));
}

/** A file that is rotated and repaired has one writer: the first worker has the file itself, each other one its own. */
export function ownAuditFile(to: AuditTarget, { number }: WorkerPlace): AuditTarget {
  if (to.kind !== 'file' || number === 0) return to;
  const { dir, name, ext } = parse(to.path);
  return { ...to, path: `${dir === '' ? '' : `${dir}/`}${name}.worker-${number}${ext}` };
}
