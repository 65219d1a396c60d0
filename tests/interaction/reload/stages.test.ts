/**
 * Calls at every stage of their way when a reload replaces their backend. They finish there, or are told that it is
 * gone; `shutting_down` is what a gateway says that stops, and this one goes on.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { answered } from '../backend/setup.ts';
import { call, request, text } from '../harness/behind.ts';
import { type Answer, type Call, open, send, until } from '../harness/client.ts';
import { connectLegacy, initialize, modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script, type Turn } from '../harness/http-backend.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';

const DRAIN_MS = 50;
const CALLS = 4;
const silent = () => undefined;
const modernCall = modern({ method: 'tools/call', params: { name: 'work', arguments: {} } });
const done = (turn: Pick<Turn, 'result'>) => turn.result({ resultType: 'complete', ...text('done') });

interface Stage {
  readonly name: string;
  /** The backend as it is before the reload. `reached`: resolves when all calls are where they are to be. */
  start(): Promise<{ readonly config: ConfigValue; readonly limits?: object; reached(): Promise<unknown> }>;
  /** What a client does. */
  begin(url: string): Promise<readonly Promise<Answer>[]>;
}

const many = (url: string, one: Call) => Array.from({ length: CALLS }, () => send(url, one));

async function fromSessions(url: string): Promise<readonly Promise<Answer>[]> {
  const clients = await Promise.all(Array.from({ length: CALLS }, () => connectLegacy(url)));
  return clients.map((client) => client.post(call(1)));
}

const http =
  (make: typeof modernBackend, script: Script, method: string, nth: number, limits: object = {}): Stage['start'] =>
  async () => {
    const backend = await make(script);
    return { config: { url: backend.url }, limits, reached: () => backend.arrival(method, nth) };
  };

const stages: readonly Stage[] = [
  {
    name: 'in flight at a modern backend over HTTP',
    start: http(modernBackend, { 'tools/call': silent }, 'tools/call', CALLS),
    begin: async (url) => many(url, modernCall),
  },
  {
    name: 'in flight at a legacy backend over HTTP',
    start: http(legacyBackend, { 'tools/call': silent }, 'tools/call', CALLS),
    begin: fromSessions,
  },
  {
    name: 'of modern clients in flight at a legacy backend over HTTP',
    start: http(legacyBackend, { 'tools/call': silent }, 'tools/call', CALLS),
    begin: async (url) => many(url, modernCall),
  },
  {
    name: 'queued for a slot of a modern backend',
    start: http(modernBackend, { 'tools/call': silent }, 'tools/call', 1, { callsPerBackend: 1 }),
    begin: async (url) => many(url, modernCall),
  },
  {
    name: 'queued for a slot of a legacy backend',
    start: http(legacyBackend, { 'tools/call': silent }, 'tools/call', 1, { callsPerBackend: 1 }),
    begin: fromSessions,
  },
  {
    name: 'waiting for a modern backend to be discovered',
    start: http(modernBackend, { 'server/discover': silent }, 'server/discover', 1),
    begin: async (url) => many(url, modernCall),
  },
  {
    name: 'opening a session at a legacy backend',
    start: http(legacyBackend, { initialize: silent }, 'initialize', 1),
    begin: async (url) => many(url, { body: initialize() }),
  },
  {
    name: 'of modern clients waiting for a session at a legacy backend',
    start: http(legacyBackend, { initialize: silent }, 'initialize', 1),
    begin: async (url) => many(url, modernCall),
  },
  {
    name: 'subscribing at a legacy backend',
    start: http(legacyBackend, { 'resources/subscribe': silent }, 'resources/subscribe', 1),
    begin: async (url) => [
      (await connectLegacy(url)).post(request(1, 'resources/subscribe', { uri: 'x://y' })),
      send(
        url,
        modern({ method: 'subscriptions/listen', params: { notifications: { resourceSubscriptions: ['x://z'] } } }),
      ),
    ],
  },
  {
    name: 'in flight at a modern process',
    start: async () => {
      const { command, args, ...backend } = await modernProcess({ 'tools/call': silent });
      return { config: { command, args }, reached: () => backend.arrival('tools/call', CALLS) };
    },
    begin: async (url) => many(url, modernCall),
  },
  {
    name: 'waiting for a process',
    start: async () => {
      const { command, args, ...backend } = await legacyProcess({ 'tools/call': silent });
      return { config: { command, args, maxProcesses: 1 }, reached: () => backend.arrival('tools/call', 1) };
    },
    begin: fromSessions,
  },
  {
    name: 'in flight at a shared process',
    start: async () => {
      const { command, args, ...backend } = await legacyProcess({ 'tools/call': silent });
      return { config: { command, args, share: true }, reached: () => backend.arrival('tools/call', CALLS) };
    },
    begin: fromSessions,
  },
  {
    name: 'waiting for a process that does not begin to speak',
    start: async () => {
      const backend = await legacyProcess({ initialize: silent, 'server/discover': silent });
      const { command, args } = backend;
      return { config: { command, args }, reached: () => until(() => backend.processes.length > 0, 'it was started') };
    },
    begin: async (url) => [...many(url, modernCall), ...many(url, { body: initialize() })],
  },
];

/** The reason of a failure, or `result`. */
function outcomeOf(answer: Answer): string {
  const { error } = answered(answer);
  return error === undefined ? 'result' : (error.data?.reason ?? `code ${error.code}`);
}

/** To a legacy client whose only backend is gone its session is over; a `subscriptions/listen` ends by a result. */
const allowed = ['result', 'backend_unavailable', 'session_not_found', 'session_ended', 'path_not_found'];

describe.each(stages)('calls $name', verifies('gateway:reload:never-shutting-down'), ({ start, begin }) => {
  it.each(['replaced', 'removed'] as const)('never get shutting_down when their backend is %s', async (how) => {
    const { config, limits = {}, reached } = await start();
    const after = await modernBackend({ 'tools/call': done });
    const spare = await modernBackend({ 'tools/call': done });
    const configOf = (b: ConfigValue | undefined) => ({
      backends: { ...(b && { b }), spare: { url: spare.url } },
      limits: { drainMs: DRAIN_MS, ...limits },
    });
    const gateway: TestGateway = await startGateway(configOf(config));
    const url = gateway.url('b');
    const answers = await begin(url);
    await reached();
    gateway.reload(configOf(how === 'replaced' ? { url: after.url } : undefined));
    const outcomes = (await Promise.all(answers)).map(outcomeOf);
    for (const outcome of outcomes) expect(allowed).toContain(outcome);
    if (how === 'replaced') expect(outcomeOf(await send(url, modernCall))).toBe('result');
  });
});

it(
  'calls that arrive while backends are replaced repeatedly never get shutting_down',
  verifies('gateway:reload:never-shutting-down'),
  async () => {
    const [one, other] = await Promise.all([
      modernBackend({ 'tools/call': done }),
      legacyBackend({ 'tools/call': done }),
    ]);
    const configOf = (n: number) => ({
      backends: { b: { url: n % 2 === 0 ? one.url : other.url, headers: { 'x-n': String(n) } } },
      limits: { drainMs: DRAIN_MS, callsPerBackend: 2 },
    });
    const gateway = await startGateway(configOf(0));
    const outcomes = new Map<string, number>();
    let isOver = false;
    const work = async () => {
      while (!isOver) {
        const outcome = outcomeOf(await send(gateway.url('b'), modernCall));
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    };
    const working = Array.from({ length: 8 }, work);
    for (let n = 1; n <= 100; n++) {
      gateway.reload(configOf(n));
      await (await open(gateway.url('b'), modernCall)).ended;
    }
    isOver = true;
    await Promise.all(working);
    expect([...outcomes.keys()].filter((outcome) => outcome !== 'result' && outcome !== 'backend_unavailable')).toEqual(
      [],
    );
    expect(outcomes.get('result')).toBeGreaterThan(0);
  },
);
