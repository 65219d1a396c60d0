/**
 * The check stage, at endpoints with a budget: a caller that was listed a tool without its schema has guessed the
 * arguments. Wrong ones are answered with the schema, and reach neither a person nor the backend. It comes after the
 * rules, so nobody learns the schema of a tool that they may not call.
 */
import type { CallStarter } from '../bridge/responder.ts';
import { mayFind } from '../budget/may-find.ts';
import { planOf } from '../budget/plan.ts';
import { toolError } from '../budget/results.ts';
import { targetOf } from '../catalog/requests.ts';
import type { ListedEntry } from '../catalog/view.ts';
import { member } from '../wire/values.ts';
import type { RequestContext } from './context.ts';
import { settledWith } from './own-result.ts';
import type { StageServices } from './services.ts';
import { shownTools } from './tools-list.ts';

/** A schema that is larger is not told: it would fill the context that the budget keeps free. */
const MOST_TOLD = 64 * 1024;

/** The answer to wrong arguments. Undefined where they are right, or cannot be checked. */
export async function toldSchema(services: StageServices, context: RequestContext): Promise<CallStarter | undefined> {
  const place = await stubbedPlace(services, context);
  if (place === undefined) return undefined;
  const { bytes, params } = context.request;
  const span = member(params, 'arguments');
  const { wrongArguments } = await import('../budget/check.ts');
  const wrong = wrongArguments(place.bytes, span && { bytes, span });
  if (wrong === undefined) return undefined;
  services.shared.count('budget.arguments_refused');
  const schema = JSON.stringify(wrong.inputSchema);
  const told = schema.length > MOST_TOLD ? 'It is too large to be shown here.' : schema;
  const problems = wrong.problems.map((problem) => `- ${problem}`).join('\n');
  return settledWith(
    toolError(
      `The arguments do not match the input schema of ${place.clientName}, so nothing was called:\n${problems}\n` +
        `Call it again with arguments that match. The input schema:\n${told}`,
    ),
  );
}

/** The whole entry of the tool, where the caller is listed only a stub of it. */
async function stubbedPlace(services: StageServices, context: RequestContext): Promise<ListedEntry | undefined> {
  const { endpoint, target, request, row, principal, authorization } = context;
  const { budget } = endpoint;
  const name = target?.name ?? targetOf(request, row)?.text;
  if (budget === undefined || target === undefined || name === undefined || row.method !== 'tools/call')
    return undefined;
  try {
    const { places } = (await shownTools(services, context)).view;
    const { stubs } = planOf(places, budget, mayFind(authorization.authorizer, endpoint, principal));
    const place = places.find((one) => one.backend === target.backend && one.name === name);
    return place !== undefined && stubs.has(place.clientName) ? place : undefined;
  } catch {
    // The lists cannot be read now: the backend checks its arguments itself.
    return undefined;
  }
}
