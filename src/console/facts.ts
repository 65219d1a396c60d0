/**
 * Facts about a running gateway for its own user, and calls as that user, in the form of the console's API. Lists and
 * calls are requests like those of clients: they take the way through all stages.
 */
import type { Failure } from '../errors/failure.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Backend } from '../exchange/upstream-session.ts';
import { explanationOf } from '../observe/cause.ts';
import type { CurrentGeneration } from '../pipeline/generation.ts';
import { about } from '../wire/about.ts';
import { isObject } from '../wire/values.ts';
import { askAsLocal, type LocalAnswer, type LocalGateway } from './local-request.ts';

export interface FactPorts {
  readonly currentGeneration: CurrentGeneration;
  readonly gateway: LocalGateway;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  readonly startedAt: number;
}

export interface FactRequest {
  readonly method: string;
  /** Below `/console/api`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export interface FactAnswer {
  readonly status: number;
  readonly body: object;
}

/** A list is cut off after so many pages: a backend may have no last one. */
const PAGES = 100;

export async function answerFacts(ports: FactPorts, request: FactRequest): Promise<FactAnswer> {
  const { method, path, query, body } = request;
  switch (`${method} ${path}`) {
    case 'GET /overview':
      return { status: 200, body: overview(ports) };
    case 'GET /tools':
      return tools(ports, query);
    case 'POST /tools/try':
      return tryTool(ports, body);
    default:
      return refusal(404, 'unknown_path', 'The gateway has no such path');
  }
}

function overview({ currentGeneration, timeOfDay, startedAt }: FactPorts): object {
  const { config, backends, services } = currentGeneration.now;
  return {
    now: timeOfDay(),
    gateway: { version: about.version, startedAt, generation: config.generation, source: config.source },
    endpoints: config.endpoints.map(({ path, backends: behind, protocol, profile, identity }) => ({
      path,
      backends: behind,
      protocol: protocol ?? 'mcp',
      revisions: profile.revisions,
      access: identity.kind === 'open' ? 'open' : 'guarded',
    })),
    backends: [
      ...config.backends.map(({ name, kind }) => ({ name, kind, ...backendFacts(backends.get(name)) })),
      ...config.services.map(({ name }) => ({ name, kind: 'json-rpc', ...stateFacts(services.get(name)?.state) })),
    ],
  };
}

function backendFacts(backend: Backend | undefined): object {
  const discovery = backend?.lastDiscovery;
  const { name, version } = discovery?.serverInfo ?? {};
  const server = [name, version].filter((part) => typeof part === 'string').join(' ');
  return {
    ...stateFacts(backend?.state),
    eras: discovery?.eras ?? [],
    revision: discovery?.revision,
    ...(server !== '' && { server }),
  };
}

function stateFacts(state: { readonly state: string; readonly failure?: Failure } | undefined): object {
  if (state?.failure === undefined) return { state: state?.state ?? 'unknown' };
  return { state: state.state, message: state.failure.message, ...explanationOf(state.failure) };
}

async function tools(ports: FactPorts, query: URLSearchParams): Promise<FactAnswer> {
  const as = query.get('as');
  if (as !== null && as !== 'local')
    return refusal(404, 'unknown_person', 'Only the local user is known here: leave `as` out');
  const path = query.get('endpoint') ?? mainEndpoint(ports);
  const found: object[] = [];
  let cursor: unknown;
  for (let page = 0; page < PAGES; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await askAsLocal(ports, path, { method: 'tools/list', params });
    const { result } = answer;
    if (!isObject(result)) return notListed(path, answer);
    if (Array.isArray(result.tools)) found.push(...result.tools.filter(isObject).map(toolFacts));
    cursor = result.nextCursor;
    if (typeof cursor !== 'string') break;
  }
  return { status: 200, body: { now: ports.timeOfDay(), endpoint: path, who: 'local', tools: found } };
}

function toolFacts({ name, title, description, annotations, inputSchema }: Readonly<Record<string, unknown>>): object {
  return { name, title, description, annotations, inputSchema, state: 'shown' };
}

function notListed(path: string, { reason, message, error }: LocalAnswer): FactAnswer {
  const told = isObject(error) ? error.message : message;
  return refusal(reason === 'path_not_found' ? 404 : 502, reason ?? 'not_listed', `${path}: ${String(told)}`);
}

async function tryTool(ports: FactPorts, body: unknown): Promise<FactAnswer> {
  const { endpoint, tool, arguments: args = {} } = isObject(body) ? body : {};
  if (typeof endpoint !== 'string' || typeof tool !== 'string' || !isObject(args))
    return refusal(400, 'invalid_try', 'Send `endpoint` (a path), `tool` (a name) and `arguments` (a map)');
  const began = ports.clock.now();
  const answer = await askAsLocal(ports, endpoint, {
    method: 'tools/call',
    params: { name: tool, arguments: args },
    name: tool,
  });
  return { status: 200, body: { ...answer, ms: ports.clock.now() - began } };
}

function mainEndpoint({ currentGeneration }: FactPorts): string {
  const { endpoints } = currentGeneration.now.config;
  return endpoints.find(({ protocol }) => protocol === undefined)?.path ?? '/mcp';
}

function refusal(status: number, reason: string, message: string): FactAnswer {
  return { status, body: { error: { reason, message } } };
}
