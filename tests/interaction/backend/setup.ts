/**
 * What the suites of this folder share: a client and a backend of one era with a gateway between them, and what goes
 * wrong.
 */
import { expect } from 'vitest';
import type { Era } from '../../../src/wire/revisions.ts';
import { type Behind, behindLegacy, behindModern, notification, request, type Settings } from '../harness/behind.ts';
import { type Answer, type Json, type OpenAnswer, open, type StreamedEvent, send } from '../harness/client.ts';
import { connectLegacy, type Introduction, type LegacyClient, modern } from '../harness/eras.ts';
import { type ConfigValue, type Ports, startGateway, type TestGateway } from '../harness/gateway.ts';
import type { Script } from '../harness/http-backend.ts';
import type { StdioBackend } from '../harness/stdio-backend.ts';

export const tool = { name: 'work', arguments: {} };

export type Params = Readonly<Record<string, unknown>> & { readonly _meta?: object };

/** One client of one era: every request is a tool call unless it says otherwise. */
export interface Caller {
  /** The whole answer. */
  ask(id: string | number, method?: string, params?: Params): Promise<Answer>;
  /** The answer while it goes on. */
  begin(id: string | number, method?: string, params?: Params): Promise<OpenAnswer>;
}

export interface Pair extends Behind, Caller {}

export interface PairSettings extends Settings {
  /** How a legacy client introduces itself. */
  readonly client?: Introduction;
}

/** What the gateway finds out by itself is answered, so that it does not get into the way of what a test looks at. */
const quiet: Script = {
  'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' }),
};

/** A raw client in front of a gateway, a scripted HTTP backend behind it, both of one era. */
export async function pairOf(era: Era, script: Script = {}, settings: PairSettings = {}): Promise<Pair> {
  const behind =
    era === 'legacy' ? await behindLegacy(script, settings) : await behindModern({ ...quiet, ...script }, settings);
  return { ...behind, ...(await caller(era, behind.url, settings.client)) };
}

export async function caller(era: Era, url: string, client: Introduction = {}): Promise<Caller> {
  return era === 'legacy' ? legacyCaller(await connectLegacy(url, client)) : modernCaller(url);
}

export function legacyCaller(client: LegacyClient): Caller {
  return {
    ask: (id, method = 'tools/call', params = tool) => client.post(request(id, method, params)),
    begin: (id, method = 'tools/call', params = tool) => client.stream(request(id, method, params)),
  };
}

export function modernCaller(url: string): Caller {
  const call = (id: string | number, method: string, { _meta, ...params }: Params) =>
    modern({ id, method, params, ...(_meta && { meta: _meta }) });
  return {
    ask: (id, method = 'tools/call', params = tool) => send(url, call(id, method, params)),
    begin: (id, method = 'tools/call', params = tool) => open(url, call(id, method, params)),
  };
}

/** What stood on a stream, but for events that carry nothing. */
export function messagesOf({ events }: { readonly events: readonly StreamedEvent[] }): readonly Json[] {
  return events.filter(({ data }) => data).map((event) => event.json());
}

/** A log message, for order's sake: nothing else depends on what it says. */
export function said(data: string): object {
  return notification('notifications/message', { level: 'info', data });
}

/** The JSON-RPC answer, whether it came as JSON or at the end of a stream. */
export function answered({ headers, events, json }: Answer): Json {
  if (headers['content-type'] === 'application/json') return json();
  return events.at(-1)?.json();
}

export interface ProcessSettings {
  /** Beside the command: `share`, `maxProcesses`, `idleMs`. */
  readonly backend?: ConfigValue;
  readonly limits?: Readonly<Record<string, number>>;
  readonly ports?: Ports;
}

/** A gateway in front of a backend that is started as a process. */
export function startBeforeProcess(
  { command, args }: StdioBackend,
  { backend, limits, ports }: ProcessSettings = {},
): Promise<TestGateway> {
  const config = { backends: { b: { command, args, ...backend } }, ...(limits && { limits }) };
  return startGateway(config, ports);
}

export const invalid = {
  code: -32603,
  message: expect.stringMatching(/^Backend sent an invalid response/),
  reason: 'backend_invalid',
};
export const unavailable = {
  code: -32603,
  message: expect.stringMatching(/^Backend unavailable/),
  reason: 'backend_unavailable',
};
/** Rejected without an attempt, with the time of the next one. */
export const leftAlone = { ...unavailable, data: { retryAfterMs: expect.any(Number) } };
export const tooLarge = { code: -32603, message: 'Backend response too large', reason: 'backend_too_large' };
export const ended = {
  code: -32603,
  message: expect.stringMatching(/^Backend process ended without a response/),
  reason: 'backend_unavailable',
};
export const busy = { code: -32603, message: expect.stringMatching(/^Backend busy: /), reason: 'backend_busy' };

export function timedOut(limit: string) {
  return { code: -32603, message: 'Backend timed out', reason: 'backend_timeout', data: { limit } };
}

/** How often something was noticed and survived. */
export function count(gateway: TestGateway, name: string): number {
  return gateway.counters.snapshot()[name] ?? 0;
}
