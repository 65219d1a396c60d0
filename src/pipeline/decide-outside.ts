/**
 * The stage after the rules: decision points outside the gateway, where the config has some. They are asked about what
 * the rules and the rates have allowed, and never about a client's responses: these answer a question that was
 * authorized before.
 */
import { FIND_TOOLS } from '../budget/find-tools.ts';
import { Failure } from '../errors/failure.ts';
import type { CallOutcome } from '../exchange/call.ts';
import { FIND, listed } from '../policy/actions.ts';
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
  const list = row.action === FIND ? 'tools' : row.list;
  return list !== undefined && authorization.authorizer.decisions?.filters(listed[list].kind) === true;
}

/**
 * The list with the entries that the rules and all decision points show. Never rejects. `ruledOf`: the backend of an
 * entry, and its name for rules, by its listed name.
 */
export async function withShownEntries(
  context: RequestContext,
  outcome: CallOutcome,
  ruledOf: (name: string) => { readonly backend: string; readonly name: string },
): Promise<CallOutcome> {
  const { row, authorization } = context;
  const { decisions } = authorization.authorizer;
  if (outcome.kind !== 'result' || row.list === undefined || decisions === undefined) return outcome;
  try {
    const names = entryNames(outcome.message, row.list).filter((name) => name !== undefined);
    // Rules decide about it, as about an action of its own.
    const isOwn = (name: string) => context.endpoint.budget !== undefined && name === FIND_TOOLS;
    const asked = names.filter((name) => !isOwn(name));
    const answers = await shownAmong(context, asked.map(ruledOf));
    const shown = new Set(asked.filter((_name, at) => answers[at] === true));
    // Nobody can be asked about an entry without a name.
    const message = withEntries(
      outcome.message,
      row.list,
      (name) => name !== undefined && (isOwn(name) || shown.has(name)),
    );
    return { ...outcome, message };
  } catch (cause) {
    // A list that cannot be checked is not passed on.
    return failed(cause instanceof Failure ? cause : new Failure('internal_error', { cause }));
  }
}

/** Whether all decision points show each of these tools or entries. Rejects with a Failure where one of them fails. */
export async function shownAmong(
  { row, authorization, principal, endpoint }: RequestContext,
  entries: readonly { readonly name: string; readonly backend: string }[],
): Promise<readonly boolean[]> {
  const { decisions } = authorization.authorizer;
  if (decisions === undefined) return entries.map(() => true);
  const { kind } = listed[row.list ?? 'tools'];
  const answer = await decisions.show({ principal, endpoint }, kind, entries);
  authorization.decided?.(answer.decisions);
  if (answer.shown === undefined) throw answer.denial ? outsideFailure(answer.denial) : new Failure('internal_error');
  return answer.shown;
}

function failed(failure = new Failure('internal_error')): CallOutcome {
  return { kind: 'failure', failure };
}
