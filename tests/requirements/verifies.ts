/**
 * How a test says what it proves. The declaration stands where vitest takes options, so that the title stays the
 * behaviour:
 *
 *     it('answers a client response with 202', verifies('gateway:legacy:response-202'), async () => { ... });
 *     it('is slow', { ...verifies('gateway:backend:limit-idle'), timeout: 20_000 }, async () => { ... });
 *     for (const row of table) it(row.name, verifies(...row.verifies), () => { ... });
 *     describe('the stdio wire', verifies('transport:stdio'), () => { ... });
 *
 * On a `describe` it holds for every test inside; a test that declares for itself replaces what its `describe` said.
 * The ids travel in the report of the run, from where the gate reads what was proven by a test that really ran and
 * passed.
 */
import type { TaskMeta } from 'vitest';
import type { RequirementId } from './catalogue.ts';

declare module 'vitest' {
  interface TaskMeta {
    readonly verifies?: readonly RequirementId[];
    readonly diverges?: readonly RequirementId[];
  }
}

/** Goes where vitest takes the options of a test. */
export interface Declaration {
  readonly meta: Partial<TaskMeta>;
}

/** The test proves that these requirements are held. */
export function verifies(...ids: readonly RequirementId[]): Declaration {
  return { meta: { verifies: ids } };
}

/** The test pins what we do instead of these requirements. It fails on the day on which we do what they ask. */
export function diverges(...ids: readonly RequirementId[]): Declaration {
  return { meta: { diverges: ids } };
}
