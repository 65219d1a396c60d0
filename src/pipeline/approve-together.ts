/**
 * Calls that are sent together: the members of a batch, or of the body of a JSON-RPC service. Each has to be approved
 * before any is sent, and none of them can wait for a person: where one is not approved, all are denied.
 */
import type { Approvals, CallToApprove } from '../approvals/ports.ts';
import type { GivenApproval } from '../policy/approval.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import { Denied } from '../policy/refusals.ts';
import type { WithheldAuthorization } from '../policy/withheld.ts';
import { approvalNeeded } from './approval-rounds.ts';
import { storing } from './approve.ts';
import type { SharedServices } from './services.ts';

type TogetherServices = Pick<SharedServices, 'approvals' | 'currentGeneration'>;

export interface CallToApproveTogether {
  readonly call: CallToApprove;
  readonly withheld: WithheldAuthorization;
}

/** In the same order. Rejects with a Denied where one call is not approved: a person is asked about it then. */
export async function approveTogether(
  shared: TogetherServices,
  calls: readonly CallToApproveTogether[],
): Promise<readonly Authorization[]> {
  try {
    return await storing(claimAll(shared, await shared.approvals.open(), calls));
  } catch (error) {
    for (const { withheld } of calls) withheld.over();
    throw error;
  }
}

async function claimAll(
  shared: TogetherServices,
  approvals: Approvals,
  calls: readonly CallToApproveTogether[],
): Promise<readonly Authorization[]> {
  let lacking: Denied | undefined;
  // Look at all of them before any approval is taken: it would be lost with a call that is not made.
  for (const { call, withheld } of calls) {
    const id = await asked(shared, approvals, call, withheld);
    if (id !== undefined) lacking ??= approvalNeeded(shared, call, id);
  }
  if (lacking !== undefined) throw lacking;
  const approvalOf = new Map<CallToApproveTogether, GivenApproval>();
  for (const one of calls) {
    const approval = await approvals.claim(one.call);
    if (approval === undefined) throw approvalNeeded(shared, one.call, undefined);
    approvalOf.set(one, approval);
  }
  return grantAll(shared, approvalOf);
}

/** Nothing is awaited here: the policy that has decided is the one in force. */
function grantAll(
  shared: TogetherServices,
  approvalOf: ReadonlyMap<CallToApproveTogether, GivenApproval>,
): readonly Authorization[] {
  const granted: Authorization[] = [];
  try {
    for (const [{ call, withheld }, approval] of approvalOf) {
      if (withheld.authorizer !== shared.currentGeneration.now.authorizer)
        throw approvalNeeded(shared, call, undefined, 'The policy has changed meanwhile: make the call again');
      granted.push(withheld.approved(approval));
    }
    return granted;
  } catch (error) {
    for (const authorization of granted) authorization.over?.({ outcome: 'cancelled' });
    throw error;
  }
}

/** The id of the question, where the call is not approved. Throws where it is denied. */
async function asked(
  shared: TogetherServices,
  approvals: Approvals,
  call: CallToApprove,
  withheld: WithheldAuthorization,
): Promise<string | undefined> {
  if (shared.approvals.pageOf('') === undefined) throw approvalNeeded(shared, call, undefined);
  const opened = await approvals.ask(call);
  if (opened === 'full') throw new Denied('too_many_approvals');
  const { id, state } = opened.question;
  if (opened.isNew) withheld.asked(id);
  if (state === 'denied') throw new Denied('approval_denied', { data: { approval: id, rules: call.demand.rules } });
  return state === 'approved' ? undefined : id;
}
