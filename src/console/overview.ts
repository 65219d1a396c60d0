/** The overview: the gateway, its endpoints, its backends and the clients that use it, each with its state and age. */
import type { BackendConfig, EndpointConfig, ServiceConfig } from '../config/config.ts';
import { shownUrl } from '../config/describe.ts';
import type { Backend, BackendState } from '../exchange/upstream-session.ts';
import type { RpcServiceState } from '../jsonrpc/ports.ts';
import { explanationOf } from '../observe/cause.ts';
import type { PinGuard } from '../pins/ports.ts';
import { about } from '../wire/about.ts';
import { era, type Revision } from '../wire/revisions.ts';
import type { ConsolePorts } from './ports.ts';
import type { ConsoleRecorder, Traffic } from './recorder.ts';

/** Clients that are listed: the latest ones. */
const CLIENTS = 100;

export function overview(ports: ConsolePorts): object {
  const { currentGeneration, recorder, sessions, startedAt } = ports;
  const { config, backends, services, pins } = currentGeneration.now;
  const now = ports.timeOfDay();
  return {
    now,
    gateway: {
      version: about.version,
      startedAt,
      generation: config.generation,
      source: config.source,
      sessions: sessions.size,
      ...(recorder.isOn && { inFlight: recorder.inFlight, rate: perSecond(recorder.all.rate(now)) }),
      recordsBodies: recorder.recordsBodies,
    },
    endpoints: config.endpoints.map((endpoint) => endpointFacts(ports, endpoint, now)),
    backends: [
      ...config.backends.map((settings) => ({
        ...addressOf(settings),
        ...backendFacts(ports, backends.get(settings.name), now),
      })),
      ...config.services.map((settings) => ({
        ...serviceAddress(settings),
        ...stateFacts(services.get(settings.name)?.state),
        ...trafficFacts(recorder, recorder.backend(settings.name), now),
      })),
      ...config.disabled.map((name) => ({ name, state: 'off', source: 'config', message: '`disabled` in the config' })),
    ],
    clients: clients(ports),
    ...(pins && { pins: pinFacts(pins) }),
  };
}

/** Changes that are listed. */
const PIN_CHANGES = 100;

function pinFacts({ file, mode, problem, changes, changeCount }: PinGuard) {
  return { file, mode, problem, changeCount, changes: changes.slice(0, PIN_CHANGES) };
}

function endpointFacts(
  { recorder }: ConsolePorts,
  { path, backends, protocol, profile, identity }: EndpointConfig,
  now: number,
) {
  return {
    path,
    backends,
    protocol: protocol ?? 'mcp',
    revisions: profile.revisions,
    access: identity.kind === 'open' ? 'open' : 'guarded',
    ...trafficFacts(recorder, recorder.endpoint(path), now),
  };
}

/** Neither arguments, environment nor headers: they often hold secrets. */
function addressOf(settings: BackendConfig) {
  const { name, kind } = settings;
  return kind === 'http' ? { name, kind, address: shownUrl(settings.url) } : { name, kind, address: settings.command };
}

function serviceAddress({ name, url }: ServiceConfig) {
  return { name, kind: 'json-rpc', address: shownUrl(url) };
}

/** `since`: when the state was entered. `source` and `at`: what told us last that it still holds, and when. */
function backendFacts({ recorder, clock }: ConsolePorts, backend: Backend | undefined, now: number) {
  if (backend === undefined) return { state: 'unknown' };
  const traffic = recorder.backend(backend.name);
  const since = recorder.times.since(backend);
  const { checkedAt } = backend;
  const probedAt = checkedAt === undefined ? since : Math.max(since ?? 0, now - (clock.now() - checkedAt));
  const answeredAt = traffic?.answeredAt ?? 0;
  const isByCall = backend.state.state === 'ready' && answeredAt > (since ?? 0);
  const discovery = backend.lastDiscovery;
  const { name: server, version } = discovery?.serverInfo ?? {};
  return {
    ...stateFacts(backend.state),
    since,
    source: isByCall ? 'call' : backend.state.state === 'starting' ? 'start' : 'probe',
    at: isByCall ? answeredAt : probedAt,
    eras: discovery?.eras ?? [],
    revision: discovery?.revision,
    server:
      typeof server === 'string' ? [server, version].filter((part) => typeof part === 'string').join(' ') : undefined,
    offers: Object.keys(discovery?.capabilities ?? {}),
    ...trafficFacts(recorder, traffic, now),
  };
}

/** The cause names hosts and the last lines of a process, with likely secrets masked: it is for operators. */
export function stateFacts(state: BackendState | RpcServiceState | undefined) {
  if (state === undefined) return { state: 'unknown' };
  if (!('failure' in state)) return { state: state.state };
  const { failure } = state;
  return { state: state.state, message: failure.message, ...explanationOf(failure) };
}

/** Absent where nothing is recorded: a zero would be a statement. */
function trafficFacts({ isOn }: ConsoleRecorder, traffic: Traffic | undefined, now: number) {
  return isOn && { rate: perSecond(traffic?.history.rate(now) ?? 0), inFlight: traffic?.inFlight ?? 0 };
}

function perSecond(rate: number): number {
  return Math.round(rate * 100) / 100;
}

interface SeenClient {
  readonly client: string | undefined;
  readonly revision: Revision | undefined;
  readonly era: string | undefined;
  readonly endpoints: Set<string>;
  people: number;
  lastAt: number;
}

/** Which clients still need an old revision, and where they come in. */
function clients({ recorder }: ConsolePorts): readonly object[] {
  const found = new Map<string, SeenClient>();
  for (const { uses } of recorder.people.all()) {
    const mine = new Set<string>();
    for (const { client, revision, endpoint, lastAt } of uses.values()) {
      const key = `${client}\n${revision}`;
      const known = found.get(key) ?? newClient(client, revision);
      found.set(key, known);
      known.endpoints.add(endpoint);
      known.lastAt = Math.max(known.lastAt, lastAt);
      if (!mine.has(key)) known.people += 1;
      mine.add(key);
    }
  }
  return [...found.values()]
    .sort((a, b) => b.lastAt - a.lastAt)
    .slice(0, CLIENTS)
    .map((client) => ({ ...client, endpoints: [...client.endpoints] }));
}

function newClient(client: string | undefined, revision: Revision | undefined): SeenClient {
  return { client, revision, era: revision && era(revision), endpoints: new Set(), people: 0, lastAt: 0 };
}
