/**
 * The console's facts and acts as a table. Every way in uses it: the pages, `/console/api`, and the control socket of
 * the commands.
 */
import type { ConsoleRight } from '../config/console.ts';
import { shownPrincipal } from '../identity/principal.ts';
import { answerApproval, approvals } from './approvals.ts';
import { calls, oneCall } from './calls.ts';
import { HISTORY_MINUTES, type History, type HistoryPoint, MINUTE_MS } from './history.ts';
import { overview } from './overview.ts';
import { people, person, personFacts, principalFor } from './people.ts';
import { policyFacts, tryDecision } from './policy-facts.ts';
import { type ConsolePorts, ConsoleRefusal, type Operator } from './ports.ts';
import { revoke } from './revoke.ts';
import { isAsking, mayEnter } from './rights.ts';
import { tools } from './tools.ts';
import { tryCall } from './try-call.ts';

export interface ApiRequest {
  readonly method: string;
  /** Below `/console/api`, such as `/overview`. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The parsed JSON of a POST. */
  readonly body: unknown;
  readonly operator: Operator;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: object;
}

interface ApiRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** `enter`: whoever may open the console. What they see is their own, or depends on their rights. */
  readonly right: ConsoleRight | 'enter';
  /** About what came and was decided, which is recorded only where a console is configured. */
  readonly isRecorded?: true;
  answer(ports: ConsolePorts, request: ApiRequest): object | Promise<object>;
}

export const consoleRoutes: readonly ApiRoute[] = [
  { method: 'GET', path: '/me', right: 'enter', answer: (ports, { operator }) => me(ports, operator) },
  { method: 'GET', path: '/overview', right: 'view', answer: (ports) => overview(ports) },
  {
    method: 'GET',
    path: '/history',
    right: 'view',
    isRecorded: true,
    answer: (ports, { query }) => history(ports, query),
  },
  { method: 'GET', path: '/calls', right: 'view', isRecorded: true, answer: (ports, { query }) => calls(ports, query) },
  {
    method: 'GET',
    path: '/call',
    right: 'view',
    isRecorded: true,
    answer: (ports, { query }) => oneCall(ports, query),
  },
  { method: 'GET', path: '/tools', right: 'view', answer: (ports, request) => toolsAt(ports, request) },
  { method: 'GET', path: '/people', right: 'view', isRecorded: true, answer: (ports) => people(ports) },
  { method: 'GET', path: '/person', right: 'view', answer: (ports, request) => onePerson(ports, request) },
  { method: 'GET', path: '/policy', right: 'view', isRecorded: true, answer: (ports) => policyFacts(ports) },
  {
    method: 'POST',
    path: '/policy/try',
    right: 'view',
    answer: (ports, { body, operator }) => tryDecision(ports, body, operator),
  },
  {
    method: 'POST',
    path: '/sessions/revoke',
    right: 'revoke',
    answer: (ports, { body, operator }) => revoke(ports, body, operator),
  },
  { method: 'GET', path: '/approvals', right: 'enter', answer: (ports, { operator }) => approvals(ports, operator) },
  {
    method: 'POST',
    path: '/approvals/answer',
    right: 'enter',
    answer: (ports, { body, operator }) => answerApproval(ports, body, operator),
  },
  {
    method: 'POST',
    path: '/tools/try',
    right: 'try',
    answer: (ports, { body, operator }) => tryCall(ports, body, operator),
  },
];

/** Never rejects with a ConsoleRefusal. Without the right to view, paths that need a right are answered alike. */
export async function answerApi(ports: ConsolePorts, request: ApiRequest): Promise<ApiAnswer> {
  try {
    const { rights } = request.operator;
    const here = consoleRoutes.filter(({ path }) => path === request.path);
    const isEntered = here[0]?.right === 'enter' && mayEnter(ports.currentGeneration.now.config, rights);
    if (!rights.has('view') && !isEntered) throw new ConsoleRefusal(403, 'not_allowed', 'You may not use this console');
    const route = here.find(({ method }) => method === request.method);
    if (here.length === 0) throw new ConsoleRefusal(404, 'unknown_path', 'The console has no such path');
    if (route === undefined) throw new ConsoleRefusal(405, 'method_not_allowed', `Use ${here[0]?.method}`);
    if (route.right !== 'enter' && !rights.has(route.right))
      throw new ConsoleRefusal(403, 'not_allowed', `You may look, but not ${route.right}: the config says who may`);
    if (route.isRecorded && !ports.recorder.isOn)
      throw new ConsoleRefusal(409, 'not_recorded', 'This is recorded only with `console` in the config');
    return { status: 200, body: await route.answer(ports, request) };
  } catch (error) {
    if (!(error instanceof ConsoleRefusal)) throw error;
    return { status: error.status, body: { error: { reason: error.reason, message: error.message } } };
  }
}

function me(ports: ConsolePorts, { principal, rights, credentials }: Operator): object {
  const { config } = ports.currentGeneration.now;
  const own = { ...personFacts(ports, principal), rights: [...rights], isAsking: isAsking(config) };
  if (!rights.has('view')) return { ...own, canTry: false, endpoints: [], people: [] };
  const { endpoints } = config;
  return {
    ...own,
    canTry: rights.has('try') && credentials !== undefined,
    endpoints: endpoints.filter(({ protocol }) => protocol === undefined).map(({ path }) => path),
    people: ports.recorder.people
      .all()
      .map((seen) => ({ id: personFacts(ports, seen.principal).id, who: shownPrincipal(seen.principal) })),
  };
}

function toolsAt(ports: ConsolePorts, { query, operator }: ApiRequest): Promise<object> {
  const principal = principalFor(ports, query.get('as') ?? undefined, operator);
  const { endpoints } = ports.currentGeneration.now.config;
  const first = endpoints.find(({ protocol }) => protocol === undefined)?.path ?? '/mcp';
  return tools(ports, query.get('endpoint') ?? first, principal, operator);
}

function onePerson(ports: ConsolePorts, { query, operator }: ApiRequest): Promise<object> {
  return person(ports, principalFor(ports, query.get('id') ?? undefined, operator));
}

/** `endpoint` or `backend` names one; without them it is of all. */
function history({ recorder, timeOfDay, startedAt }: ConsolePorts, query: URLSearchParams): object {
  const now = timeOfDay();
  const minutes = Math.min(HISTORY_MINUTES, Math.max(1, Number(query.get('minutes')) || 60));
  const [endpoint, backend] = [query.get('endpoint'), query.get('backend')];
  let of: History | undefined = recorder.all;
  if (endpoint !== null) of = recorder.endpoint(endpoint)?.history;
  else if (backend !== null) of = recorder.backend(backend)?.history;
  const points = of?.points(now, minutes) ?? [];
  return { now, minuteMs: MINUTE_MS, points: points.map((point) => sinceStart(point, startedAt)) };
}

/** Of minutes before the gateway ran nothing is known: a zero would be a statement. */
function sinceStart(point: HistoryPoint, startedAt: number): Pick<HistoryPoint, 'at'> {
  const { at } = point;
  return at + MINUTE_MS <= startedAt ? { at } : point;
}
