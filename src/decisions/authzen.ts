/**
 * AuthZEN Authorization API 1.0: an evaluation for a request, and evaluations for a list. Methods are actions and
 * targets are resources as in the MCP profile of AuthZEN (COAZ).
 * https://openid.net/specs/authorization-api-1_0.html
 */
import type { Principal } from '../identity/principal.ts';
import type { OutwardFetch } from '../oauth/fetch/fetch.ts';
import type { AuthorizationRequest } from '../policy/authorization-request.ts';
import type { Thing } from '../policy/question.ts';
import { isObject } from '../wire/values.ts';
import { type DescribePrincipal, subjectOf } from './facts.ts';
import { DecisionFault, statusFault } from './fault.ts';
import { withMember } from './json.ts';
import { type DecisionProtocol, effectOf, type ListQuestion } from './protocol.ts';
import type { DecisionPointSettings } from './settings.ts';
import { shownArguments } from './shown-arguments.ts';
import { type Answer, post } from './transport.ts';

/** What a client does with an entry of a list. */
const USES: Readonly<Partial<Record<Thing['kind'], string>>> = {
  tool: 'tools/call',
  prompt: 'prompts/get',
  resource: 'resources/read',
  template: 'resources/read',
};

export function authzen(
  settings: DecisionPointSettings,
  fetch: OutwardFetch,
  newId: () => string,
  describe: DescribePrincipal,
): Required<DecisionProtocol> {
  const base = settings.protocol.url.replace(/\/$/, '');
  const subjectFor = (principal: Principal) => {
    const { issuer, groups, claims } = describe(principal);
    return { ...subjectOf(principal), properties: { ...(issuer !== undefined && { issuer }), groups, claims } };
  };
  /** `body` is JSON text. */
  const ask = async (path: string, body: string, signal: AbortSignal) => {
    const id = newId();
    const headers = { ...settings.headers, 'x-request-id': id };
    const answer = await post(fetch, { url: `${base}${path}`, body, headers, signal });
    return { id, answer: evaluated(answer, id) };
  };
  return {
    decide: async (request, signal) => {
      const { principal, row, endpoint } = request;
      const facts = {
        subject: subjectFor(principal),
        action: { name: row.method },
        context: contextFor(principal, endpoint.path),
      };
      const body = withMember(facts, 'resource', resourceFor(request, settings));
      const { id, answer } = await ask('/access/v1/evaluation', body, signal);
      const approval = isObject(answer.context) ? answer.context.approval : undefined;
      return { decision: effectOf(decisionIn(answer), approval), id };
    },
    show: async ({ principal, endpoint, kind, entries }: ListQuestion, signal) => {
      const body = {
        subject: subjectFor(principal),
        action: { name: USES[kind] ?? kind },
        context: contextFor(principal, endpoint.path),
        // Without this, a decision point could stop at the first denial, and answer fewer than were asked.
        options: { evaluations_semantic: 'execute_all' },
        evaluations: entries.map(({ name, backend }) => ({
          resource: { type: kind, id: name, properties: { backend } },
        })),
      };
      const { id, answer } = await ask('/access/v1/evaluations', JSON.stringify(body), signal);
      const { evaluations } = answer;
      if (!Array.isArray(evaluations) || evaluations.length !== entries.length) throw new DecisionFault('wrong_shape');
      return { decision: evaluations.map(decisionIn), id };
    },
  };
}

/** JSON text. */
function resourceFor(request: AuthorizationRequest, settings: DecisionPointSettings): string {
  const { thing, backend, row } = request;
  const given = settings.arguments ? shownArguments(request) : undefined;
  // A task has no name that a decision point could know.
  const resource = { type: thing?.kind ?? row.action, id: thing?.name ?? backend };
  return withMember(resource, 'properties', withMember({ backend }, 'arguments', given));
}

function contextFor({ clientId }: Principal, endpoint: string): object {
  return { ...(clientId !== undefined && { agent: clientId }), endpoint };
}

/** Section 10.1.3: the decision point repeats the id of the request. An answer with another id is another's. */
function evaluated(answer: Answer, id: string): Record<string, unknown> {
  const echoed = answer.header('x-request-id');
  if (echoed !== null && echoed !== id) throw new DecisionFault('wrong_id');
  // A denial is 200 as well: every other status is about the question.
  if (answer.status !== 200) throw statusFault(answer.status);
  return answer.json();
}

function decisionIn(value: unknown): boolean {
  if (!isObject(value) || typeof value.decision !== 'boolean') throw new DecisionFault('wrong_shape');
  return value.decision;
}
