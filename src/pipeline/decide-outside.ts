/**
 * The stage after the rules: decision points outside the gateway, where the config has some. They are asked about what
 * the rules and the rates have allowed, and never about a client's responses: these answer a question that was
 * authorized before.
 */
import { Failure } from '../errors/failure.ts';
import type { CallOutcome } from '../exchange/call.ts';
import { listed } from '../policy/actions.ts';
import type { DecisionTrail } from '../policy/audit-trail.ts';
import type { Authorization, AuthorizationRequest } from '../policy/authorization-request.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import { entryNames, withEntries } from '../policy/filtered-list.ts';
import { outsideFailure } from '../policy/outside.ts';
import type { RequestContext } from './context.ts';

/** Throws, or rejects with, a Failure where the request is denied. Returns a promise only where a point is asked. */
export function askEveryone(
  authorizer: Authorizer,
  request: AuthorizationRequest,
  records?: DecisionTrail | undefined,
): Authorization | Promise<Authorization> {
  const { decisions } = authorizer;
  if (decisions?.concerns(request.row.action) !== true) return authorizer.ask(request, records);
  return authorizer.askOutside(request, decisions, records);
}

/** Whether decision points are asked which entries of this list the client may use. */
export function filtersEntries({ authorization, row }: RequestContext): boolean {
  return row.list !== undefined && authorization.authorizer.decisions?.filters(listed[row.list].kind) === true;
}

/**
 * The list with the entries that the rules and all decision points show. Never rejects. `ruledOf`: the backend of an
 * entry, and its name for rules, by its listed name.
 */
export async function withShownEntries(
  { row, authorization, principal, endpoint }: RequestContext,
  outcome: CallOutcome,
  ruledOf: (name: string) => { readonly backend: string; readonly name: string },
): Promise<CallOutcome> {
  const { decisions } = authorization.authorizer;
  if (outcome.kind !== 'result' || row.list === undefined || decisions === undefined) return outcome;
  try {
    const names = entryNames(outcome.message, row.list).filter((name) => name !== undefined);
    const entries = names.map(ruledOf);
    const answer = await decisions.show({ principal, endpoint }, listed[row.list].kind, entries);
    authorization.decided?.(answer.decisions);
    if (answer.shown === undefined) return failed(answer.denial && outsideFailure(answer.denial));
    const shown = new Set(names.filter((_name, at) => answer.shown?.[at] === true));
    // Nobody can be asked about an entry without a name.
    const message = withEntries(outcome.message, row.list, (name) => name !== undefined && shown.has(name));
    return { ...outcome, message };
  } catch (cause) {
    // A list that cannot be checked is not passed on.
    return failed(cause instanceof Failure ? cause : new Failure('internal_error', { cause }));
  }
}

function failed(failure = new Failure('internal_error')): CallOutcome {
  return { kind: 'failure', failure };
}
