/** How messages reach a backend: the same script over HTTP, stdio and HTTP+SSE. */
import type { Revision } from '../../../src/wire/revisions.ts';
import { era } from '../../../src/wire/revisions.ts';
import type { Json } from '../harness/client.ts';
import { legacyBackend, modernBackend, type ScriptedOptions, type Turn } from '../harness/http-backend.ts';
import { type SseTurn, sseBackend } from '../harness/sse-backend.ts';
import { legacyProcess, modernProcess, type StdioTurn } from '../harness/stdio-backend.ts';

export type Transport = 'http' | 'stdio' | 'sse';

/** One message that reached the backend. */
export interface Arrival {
  readonly message: Json;
  /** A session, or a process; empty where there is neither. */
  readonly session: string;
  /** Says something that belongs to it. */
  say(message: object): void;
  /** Answers it. */
  finish(message: object): void;
  /** Resolves when the gateway closes what it would be answered on. */
  readonly closed: Promise<void>;
}

/** What the backend does with messages, by method; `response` for the answers to its own questions. */
export type Hears = Readonly<Record<string, (arrival: Arrival) => void>>;

/** A peer that accepts messages without a request. */
export interface Listener {
  readonly session: string;
  say(message: object): void;
}

export interface Wire {
  /** For the config of the gateway. */
  readonly config: object;
  /** Those who listen now. */
  listeners(): readonly Listener[];
  /** What was said in each `initialize`. */
  introductions(): readonly Json[];
}

export type OpenWire = (revision: Revision, hears: Hears, options: ScriptedOptions) => Promise<Wire>;

/** Closed when the test is over. */
export const wires: Readonly<Record<Transport, OpenWire>> = { http, stdio, sse };

const never = new Promise<void>(() => undefined);

async function http(revision: Revision, hears: Hears, options: ScriptedOptions): Promise<Wire> {
  const listeners: Listener[] = [];
  const { response, ...others } = mapped(hears, ofHttp);
  const backend =
    era(revision) === 'modern'
      ? await modernBackend(others, options)
      : await legacyBackend(
          {
            ...others,
            ...(response && { POST: response }),
            GET: (turn) => {
              turn.stream();
              listeners.push({ session: sessionOf(turn), say: (message) => void turn.event(message) });
            },
          },
          { ...options, revision },
        );
  return { config: { url: backend.url }, listeners: () => listeners, introductions: introductions(backend) };
}

async function stdio(revision: Revision, hears: Hears, options: ScriptedOptions): Promise<Wire> {
  const script = mapped(hears, ofStdio);
  const backend =
    era(revision) === 'modern'
      ? await modernProcess(script, options)
      : await legacyProcess(script, { ...options, revision });
  return {
    config: { command: backend.command, args: backend.args },
    listeners: () =>
      backend.processes
        .filter(({ gone }) => !gone)
        .map((process) => ({ session: String(process.pid), say: (message) => process.say(message) })),
    introductions: introductions(backend),
  };
}

async function sse(revision: Revision, hears: Hears, options: ScriptedOptions): Promise<Wire> {
  const backend = await sseBackend(mapped(hears, ofSse), { ...options, revision });
  return {
    config: { url: backend.url },
    listeners: () =>
      [...backend.sessions.values()].map((session) => ({
        session: session.id,
        say: (message) => session.say(message),
      })),
    introductions: introductions(backend),
  };
}

function mapped<T>(hears: Hears, arrivalOf: (turn: T) => Arrival): Record<string, (turn: T) => void> {
  return Object.fromEntries(
    Object.entries(hears).map(([method, hear]) => [method, (turn: T) => hear(arrivalOf(turn))] as const),
  );
}

function introductions(backend: { of(method: string): readonly { readonly message: Json }[] }): () => readonly Json[] {
  return () => backend.of('initialize').map(({ message }) => message.params);
}

function sessionOf(turn: Turn): string {
  return String(turn.received.headers['mcp-session-id'] ?? '');
}

/** JSON where the answer is all that is said, a stream otherwise. */
function ofHttp(turn: Turn): Arrival {
  const { message } = turn;
  if (message.method === undefined || message.id === undefined) turn.raw(202, {});
  let streaming = false;
  const say = (said: object): void => {
    if (!streaming) turn.stream();
    streaming = true;
    turn.event(said);
  };
  return {
    message,
    session: sessionOf(turn),
    say,
    finish: (said) => {
      if (!streaming) turn.json(said);
      else turn.event(said).end();
    },
    closed: turn.closed,
  };
}

function ofStdio({ message, process }: StdioTurn): Arrival {
  const say = (said: object) => process.say(said);
  return { message, session: String(process.pid), say, finish: say, closed: never };
}

function ofSse({ message, session }: SseTurn): Arrival {
  const say = (said: object) => session.say(said);
  return { message, session: session.id, say, finish: say, closed: never };
}
