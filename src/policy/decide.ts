/** Whether a principal may perform an operation. Without a policy everything is allowed. */
import { mint, type Permit } from './mint.ts';
import type { Policy } from './policy.ts';
import type { PolicyQuestion } from './question.ts';
import type { Denial } from './ruling.ts';

export type { PolicyQuestion } from './question.ts';

export function decide(question: PolicyQuestion, generation: number): Permit;
export function decide(question: PolicyQuestion, generation: number, policy: Policy | undefined): Permit | Denial;
export function decide(question: PolicyQuestion, generation: number, policy?: Policy): Permit | Denial {
  return policy === undefined ? mint(question.principal.key, question.row.action, generation) : policy.decide(question);
}
