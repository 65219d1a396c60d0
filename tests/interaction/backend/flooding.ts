/** What the suites about floods share. */
import { expect } from 'vitest';
import { result } from '../harness/behind.ts';
import type { TestGateway } from '../harness/gateway.ts';
import { answered, type Caller } from './setup.ts';

/** Long enough that the machine's own time never ends a period. */
export const PERIOD_MS = 3_600_000;
export const BUDGET = 50;
export const PERIODS = 3;
/** Of one write: several periods' worth. */
export const FLOOD = 20 * BUDGET;
/** Messages of running calls: ten budgets. */
export const CALL_BUDGET = 10 * BUDGET;

/** Time leaps by hours in these suites. */
export const FOREVER_MS = 20 * 24 * PERIOD_MS;
export const limits = {
  unsolicitedMessages: BUDGET,
  unsolicitedMs: PERIOD_MS,
  unsolicitedPeriods: PERIODS,
  probeAgeMs: FOREVER_MS,
  sessionIdleMs: FOREVER_MS,
  sessionMaxMs: FOREVER_MS,
  totalMs: FOREVER_MS,
  firstByteMs: FOREVER_MS,
  idleMs: FOREVER_MS,
};

export const flooding = { code: -32603, message: 'Backend ended for flooding', reason: 'backend_flooding' };

let id = 100;

/** A call, whole. */
export async function served(client: Caller, done: object): Promise<void> {
  id += 1;
  expect(answered(await client.ask(id))).toEqual(result(id, done));
}

export function warnings(gateway: TestGateway) {
  return gateway.log.filter(({ level, facts }) => level === 'warn' && facts.reason === 'backend_flooding');
}
