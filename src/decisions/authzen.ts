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
import { argumentsFor, claimsFor, subjectOf } from './facts.ts';
import { DecisionFault } from './fault.ts';
import type { DecisionProtocol, ListQuestion } from './protocol.ts';
import type { DecisionPointSettings } from './settings.ts';
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
): Required<DecisionProtocol> {
  const base = settings.protocol.url.replace(/\/$/, '');
  const ask = async (path: string, body: object, signal: AbortSignal) => {
    const id = newId();
    const headers = { ...settings.headers, 'x-request-id': id };
    const answer = await post(fetch, { url: `${base}${path}`, body: JSON.stringify(body), headers, signal });
    return { id, answer: evaluated(answer, id) };
  };
  return {
    decide: async (request, signal) => {
      const { principal, row, endpoint } = request;
      const body = {
        subject: subjectFor(principal, settings),
        action: { name: row.method },
        resource: resourceFor(request, settings),
        context: contextFor(principal, endpoint.path),
      };
      const { id, answer } = await ask('/access/v1/evaluation', body, signal);
      return { decision: decisionIn(answer) ? 'allow' : 'deny', id };
    },
    show: async ({ principal, endpoint, backend, kind, names }: ListQuestion, signal) => {
      const body = {
        subject: subjectFor(principal, settings),
        action: { name: USES[kind] ?? kind },
        context: contextFor(principal, endpoint.path),
        // Without this, a decision point could stop at the first denial, and answer fewer than were asked.
        options: { evaluations_semantic: 'execute_all' },
        evaluations: names.map((name) => ({ resource: { type: kind, id: name, properties: { backend } } })),
      };
      const { id, answer } = await ask('/access/v1/evaluations', body, signal);
      const { evaluations } = answer;
      if (!Array.isArray(evaluations) || evaluations.length !== names.length) throw new DecisionFault('wrong_shape');
      return { decision: evaluations.map(decisionIn), id };
    },
  };
}

function subjectFor(principal: Principal, settings: DecisionPointSettings): object {
  const claims = claimsFor(principal, settings);
  const properties = { ...(principal.issuer && { issuer: principal.issuer }), claims };
  return { ...subjectOf(principal), properties };
}

function resourceFor(request: AuthorizationRequest, settings: DecisionPointSettings): object {
  const { thing, backend, row } = request;
  const given = argumentsFor(request, settings);
  const properties = { backend, ...(given !== undefined && { arguments: given }) };
  // A task has no name that a decision point could know.
  return { type: thing?.kind ?? row.action, id: thing?.name ?? backend, properties };
}

function contextFor({ clientId }: Principal, endpoint: string): object {
  return { ...(clientId !== undefined && { agent: clientId }), endpoint };
}

/** Section 10.1.3: the decision point repeats the id of the request. An answer with another id is another's. */
function evaluated(answer: Answer, id: string): Record<string, unknown> {
  const echoed = answer.header('x-request-id');
  if (echoed !== null && echoed !== id) throw new DecisionFault('wrong_id');
  // A denial is 200 as well: every other status is about the question.
  if (answer.status !== 200) throw new DecisionFault('wrong_status');
  return answer.json();
}

function decisionIn(value: unknown): boolean {
  if (!isObject(value) || typeof value.decision !== 'boolean') throw new DecisionFault('wrong_shape');
  return value.decision;
}
