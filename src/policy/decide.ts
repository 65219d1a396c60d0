/** Whether a principal may do a thing. Without a policy there is nothing to forbid it. */
import type { Principal } from '../identity/principal.ts';
import type { MethodRow } from '../wire/methods.ts';
import { mint, type Permit } from './mint.ts';

export interface Question {
  readonly principal: Principal;
  readonly row: MethodRow;
  readonly endpoint: string;
  readonly backend: string;
}

export function decide(question: Question): Permit {
  return mint(question.principal.key, question.row.action);
}
