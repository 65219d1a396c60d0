/**
 * The approve stage: where a rule demands it, a person is asked before anything is sent to a backend. The store keeps
 * the question, whatever way it is put. The policy decides once more after the answer, because it may have changed.
 */
import type { CallToApprove } from '../approvals/ports.ts';
import { whenKnown } from '../exchange/on-fulfilled.ts';
import type { GivenApproval } from '../policy/approval.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import { Denied } from '../policy/refusals.ts';
import { approvedBy, type WithheldAuthorization } from '../policy/withheld.ts';
import { StoreError } from '../store/errors.ts';
import { member } from '../wire/values.ts';
import { ApprovalRounds } from './approval-rounds.ts';
import { sendAsApproved } from './approved-request.ts';
import { authorizeAgain } from './authorize.ts';
import type { RequestContext } from './context.ts';
import type { StageServices } from './services.ts';

/** True once the request is approved and authorized. False where its exchange is settled. Rejects with a Failure. */
export async function approve(
  services: StageServices,
  context: RequestContext,
  withheld: WithheldAuthorization,
): Promise<boolean> {
  const { exchange } = context;
  const waiting = new AbortController();
  exchange.watch(withheld);
  exchange.drivenBy({ cancel: () => waiting.abort() });
  const approvals = await services.shared.approvals.open();
  const call = callToApprove(context, withheld);
  const rounds = new ApprovalRounds(services.shared, approvals, context, withheld, call, waiting.signal);
  const approval = await storing(rounds.obtain());
  if (approval === undefined || exchange.settled) return false;
  const granted = await authorizeApproved(services, context, withheld, approval, rounds.isWaited);
  context.authorization = granted;
  exchange.watch(granted);
  if (exchange.settled) return false;
  sendAsApproved(context, rounds.isAnswered);
  // The next round of this call is the same call. An approval that holds for a time covers it anyway.
  if (granted.approval !== undefined && call.demand.forMs === undefined)
    exchange.onOver(({ outcome }) => {
      if (outcome === 'asked') approvals.continueAs(call, approval);
    });
  return true;
}

/** What a call is approved as. */
export function callToApprove(context: RequestContext, { demand, request }: WithheldAuthorization): CallToApprove {
  const { principal, clientName, endpoint, resolved, row } = context;
  const { bytes, params } = resolved.asked === undefined ? context.request : resolved.message;
  return {
    ...{ principal, client: clientName, endpoint: endpoint.path, backend: resolved.backend, method: row.method },
    ...{ name: request.thing?.name, own: resolved.name, bytes, params, demand },
    arguments: member(params, 'arguments'),
    task: member(params, 'task'),
    rounds: context.session === undefined ? 'retries' : 'session',
  };
}

/** Rejects with a Failure where the store fails. */
export async function storing<T>(work: Promise<T>): Promise<T> {
  return work.catch((cause: unknown) => {
    if (!(cause instanceof StoreError)) throw cause;
    // The client chooses names, of any length.
    throw new Denied(cause.kind === 'too_large' ? 'approval_not_shown' : 'approval_unavailable', { cause });
  });
}

/** Decides again by the config of this moment, where time has passed since the request was decided. */
function authorizeApproved(
  services: StageServices,
  context: RequestContext,
  withheld: WithheldAuthorization,
  approval: GivenApproval,
  isWaited: boolean,
): Authorization | Promise<Authorization> {
  const isSame = services.shared.currentGeneration.now.authorizer === withheld.authorizer;
  if (isSame && !isWaited) return withheld.approved(approval);
  withheld.over();
  return whenKnown(authorizeAgain(services, context), (decided) => approvedBy(decided, approval));
}
