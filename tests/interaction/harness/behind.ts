/** What suites share: a backend behind a gateway, calls that a test answers when it likes, refusals word by word. */
import { expect } from 'vitest';
import { type Answer, type Json, type OpenAnswer, send, until } from './client.ts';
import type { LegacyClient } from './eras.ts';
import { type ConfigValue, type Ports, startGateway, type TestGateway } from './gateway.ts';
import {
  legacyBackend,
  modernBackend,
  type Script,
  type ScriptedBackend,
  type ScriptedOptions,
  type Turn,
} from './http-backend.ts';

export const legacyRevisions = ['2025-03-26', '2025-06-18', '2025-11-25'] as const;

/** A profile that has them all. */
export const allRevisions = { profile: { revisions: legacyRevisions, batches: 'allow' } };

/** Every answer is a stream from the beginning. */
export const streaming = { sseAfterMs: 0 };

export interface Settings {
  readonly limits?: Readonly<Record<string, number>>;
  /** `profile` and `sessions` of the one endpoint. */
  readonly endpoint?: Readonly<Record<string, unknown>>;
  readonly ports?: Ports;
  readonly backend?: ScriptedOptions;
}

export interface Behind {
  readonly backend: ScriptedBackend;
  readonly gateway: TestGateway;
  readonly url: string;
}

/** A scripted legacy backend behind a gateway. */
export async function behindLegacy(script: Script = {}, settings: Settings = {}): Promise<Behind> {
  return behind(await legacyBackend(script, settings.backend), settings);
}

export async function behindModern(script: Script = {}, settings: Settings = {}): Promise<Behind> {
  return behind(await modernBackend(script, settings.backend), settings);
}

export async function behind(backend: ScriptedBackend, { limits, endpoint, ports }: Settings): Promise<Behind> {
  const config: ConfigValue = {
    backends: { b: { url: backend.url } },
    endpoints: [{ path: '/mcp', ...endpoint }],
    ...(limits && { limits }),
  };
  const gateway = await startGateway(config, ports);
  return { backend, gateway, url: gateway.url() };
}

/** Calls that wait at the backend for the test to answer them. */
export class Held {
  readonly turns: Turn[] = [];
  /** Goes into a script. */
  readonly take = (turn: Turn): void => void this.turns.push(turn);

  /** The nth call (from 1), once it is there. */
  async nth(n: number): Promise<Turn> {
    await until(() => this.turns.length >= n, `the backend got ${n} calls`);
    return this.turns[n - 1] as Turn;
  }
}

let reads = 0;

/** Resolves when the gateway has read everything that stands on the stream so far: it has answered a ping behind it. */
export async function hasRead(backend: ScriptedBackend, stream: Turn): Promise<void> {
  const id = `read-${++reads}`;
  stream.event(request(id, 'ping'));
  await until(() => backend.received.some(({ message }) => message?.id === id), 'the gateway has read the stream');
}

export function request(id: string | number, method: string, params?: object): object {
  return { jsonrpc: '2.0', id, method, ...(params && { params }) };
}

export function call(id: string | number, args: object = {}, meta?: object): object {
  return request(id, 'tools/call', { name: 'work', arguments: args, ...(meta && { _meta: meta }) });
}

export function notification(method: string, params?: object): object {
  return { jsonrpc: '2.0', method, ...(params && { params }) };
}

export function cancelled(requestId: string | number, reason?: string): object {
  return notification('notifications/cancelled', { requestId, ...(reason && { reason }) });
}

export function text(value: string): { content: { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text: value }] };
}

export function result(id: string | number, value: object): object {
  return { jsonrpc: '2.0', id, result: value };
}

/** Answers every call with its own arguments. */
export const echo: Script = {
  'tools/call': (turn) => turn.result(text(JSON.stringify(turn.message.params.arguments))),
};

/** A log message: a notification of a backend that is easily recognised. */
export function log(data: string): object {
  return notification('notifications/message', { level: 'info', data });
}

/** The messages that came on a stream, without events that hold none. */
export function messagesOf(stream: Pick<Answer, 'events'>): Json[] {
  return stream.events.filter(({ data }) => data).map((event) => event.json());
}

/** GET with `Last-Event-ID`. */
export function resume(client: LegacyClient, eventId: string | undefined): Promise<OpenAnswer> {
  return client.listen({ 'last-event-id': eventId ?? '' });
}

/** The same where it is refused. */
export function refusedResume(client: LegacyClient, eventId: string): Promise<Answer> {
  const headers = { ...client.headers, accept: 'text/event-stream', 'last-event-id': eventId };
  return send(client.url, { method: 'GET', headers });
}

/** What is left of a stream that has ended. */
export async function replay(client: LegacyClient, eventId: string | undefined): Promise<OpenAnswer> {
  const stream = await resume(client, eventId);
  await stream.ended;
  return stream;
}

export interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly reason: string;
  readonly data?: object;
  /** Absent where the answer must have none. */
  readonly id?: string | number;
}

/** The body of a refusal, whole. */
export function refusal({ code, message, reason, data, id }: Refusal): Json {
  return { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message, data: { reason, ...data } } };
}

/** Status, media type and the whole body. */
export function expectRefused(answer: Answer, status: number, expected: Refusal): void {
  expect({ status: answer.status, type: answer.headers['content-type'], body: answer.json() }).toEqual({
    status,
    type: 'application/json',
    body: refusal(expected),
  });
}

export const sessionNotFound = { code: -32001, message: 'Session not found', reason: 'session_not_found' };
export const sessionRequired = {
  code: -32600,
  message: 'Mcp-Session-Id header is required',
  reason: 'session_required',
};
export const sessionEnded = {
  code: -32600,
  message: 'Session ended before the request was answered',
  reason: 'session_ended',
};
export const batchRefused = { code: -32600, message: 'Batches are not supported', reason: 'unsupported_mcp_batch' };
export const unknownEvent = { code: -32600, message: 'Unknown event id', reason: 'unknown_event' };
