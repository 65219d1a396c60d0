/** What a rule with `effect: approval` demands: the agreement of a person, before a request is sent to a backend. */

/** `caller`: the person at the client. `other`: another person, who has signed in to the gateway. */
export const approvers = ['caller', 'other'] as const;
export type Approver = (typeof approvers)[number];

/** The actions that can wait for a person: each is one request for one target. */
export const approvable: readonly string[] = ['call', 'get', 'read', 'rpc'];

export interface ApprovalTerms {
  readonly by: Approver;
  /** How long an approval holds for the same call. Absent: for one call. */
  readonly forMs?: number | undefined;
}

/** What all rules and decision points together demand of one request. */
export interface ApprovalDemand extends ApprovalTerms {
  /** The rules and decision points that ask, in their order. */
  readonly rules: readonly string[];
  /** What they say, so that an approval under different rules is not taken for this one. */
  readonly text: string;
}

/** A person has approved one request. */
export interface GivenApproval {
  readonly id: string;
  /** Of the demand that it fulfils. */
  readonly text: string;
}

/** The strictest of each term: another person before the caller, once before a time, a short time before a long one. */
export function combinedDemand(demands: readonly ApprovalDemand[]): ApprovalDemand | undefined {
  const [first, ...others] = demands;
  if (first === undefined || others.length === 0) return first;
  const times = demands.flatMap(({ forMs }) => forMs ?? []);
  return {
    rules: demands.flatMap(({ rules }) => rules),
    text: demands.map(({ text }) => text).join('\n'),
    by: demands.some(({ by }) => by === 'other') ? 'other' : 'caller',
    forMs: times.length < demands.length ? undefined : Math.min(...times),
  };
}
