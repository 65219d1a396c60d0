/**
 * Clients of every kind who do everything that clients do, and much that they should not: they leave in the middle,
 * send garbage, kill processes. Nothing here depends on what is answered; it is enough that there is an answer or an
 * end.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { call, cancelled, notification, request, result } from '../harness/behind.ts';
import type { Headers, Json } from '../harness/client.ts';
import { initialize, modern } from '../harness/eras.ts';
import type { Chance } from './chance.ts';

export interface Target {
  readonly origin: string;
  readonly pid: number;
  /** Names of backends. */
  readonly backends: readonly string[];
}

/** The longest wait of any step. */
const PATIENCE_MS = 1000;

export interface Said {
  readonly method?: string;
  readonly headers?: Headers;
  readonly body?: unknown;
}

export interface Got {
  /** 0: the connection ended first. */
  readonly status: number;
  readonly headers: Json;
  readonly text: string;
}

/** Says it, listens for so long, and goes. */
function say(url: string, { method = 'POST', headers = {}, body }: Said, patienceMs = PATIENCE_MS): Promise<Got> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let status = 0;
    let answered: Json = {};
    const raw = body === undefined || Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body);
    const both = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const sent = httpRequest(url, { method, agent: false, headers: { ...both, ...headers } });
    const timer = setTimeout(() => sent.destroy(), patienceMs);
    sent.on('response', (response) => {
      status = response.statusCode ?? 0;
      answered = response.headers;
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => undefined);
    });
    sent.on('error', () => undefined);
    sent.on('close', () => {
      clearTimeout(timer);
      resolve({ status, headers: answered, text: Buffer.concat(chunks).toString() });
    });
    sent.end(raw);
  });
}

type Deed = (target: Target, chance: Chance) => Promise<readonly Got[]>;

const urlOf = ({ origin }: Target, backend: string) => `${origin}/servers/${backend}/mcp`;
const patience = (chance: Chance) => (chance.once(3) ? chance.below(60) : PATIENCE_MS);

const modernRequest: Deed = async (target, chance) => {
  const method = chance.pick([
    'tools/call',
    'tools/call',
    'tools/call',
    'tools/list',
    'server/discover',
    'subscriptions/listen',
    'resources/read',
    'ping',
  ]);
  const params = {
    name: chance.pick(['echo', 'count', 'ask_name', 'work']),
    uri: 'demo://about',
    arguments: {},
    notifications: {},
  };
  const said = modern({
    id: chance.below(3),
    method,
    params,
    capabilities: chance.once(2) ? { elicitation: { form: {} } } : {},
    meta: chance.once(2) ? { progressToken: 0 } : {},
    headers: chance.once(4) ? { accept: chance.pick(['application/json', 'text/event-stream', 'text/html']) } : {},
  });
  return [await say(urlOf(target, chance.pick(target.backends)), said, patience(chance))];
};

const legacySession: Deed = async (target, chance) => {
  const url = urlOf(target, chance.pick(target.backends));
  const revision = chance.pick(['2025-06-18', '2025-11-25', '2099-01-01']);
  const opened = await say(url, { body: initialize({ revision, capabilities: { elicitation: {}, roots: {} } }) });
  const got = [opened];
  const session = opened.headers['mcp-session-id'];
  if (session === undefined) return got;
  const headers = { 'mcp-session-id': String(session) };
  const waiting: Promise<Got>[] = [];
  waiting.push(say(url, { body: notification('notifications/initialized'), headers }));
  if (chance.once(2)) waiting.push(say(url, { method: 'GET', headers }, patience(chance)));
  for (let n = chance.below(5); n > 0; n--) {
    const said = chance.pick([
      call(n),
      call(1, {}, { progressToken: 'p' }),
      request(n, 'tools/call', { name: 'ask_name' }),
      request(n, 'ping'),
      request('x', 'tools/list'),
      cancelled(1, 'because'),
      result(1, { action: 'accept', content: { name: 'Ada' } }),
      [call(1)],
    ]);
    const asked = say(url, { body: said, headers }, patience(chance));
    if (chance.once(2)) got.push(await asked);
    else waiting.push(asked);
  }
  // Some end their session, in the middle of things or not, and some are never seen again.
  if (chance.once(2)) got.push(await say(url, { method: 'DELETE', headers }));
  return [...got, ...(await Promise.all(waiting))];
};

const sseSession: Deed = (target, chance) =>
  new Promise((resolve) => {
    const base = `${target.origin}/servers/${chance.pick(target.backends)}`;
    const got: Promise<Got>[] = [];
    const stream = httpRequest(`${base}/sse`, { agent: false, headers: { accept: 'text/event-stream' } });
    setTimeout(() => stream.destroy(), patience(chance));
    stream.on('error', () => undefined).on('close', () => resolve(Promise.all(got)));
    stream.on('response', (response) => {
      response.on('error', () => undefined);
      response.once('data', (chunk: Buffer) => {
        const address = /data: (\S+)/.exec(chunk.toString())?.[1];
        if (address === undefined) return;
        for (const body of [initialize(), notification('notifications/initialized'), call(1), call(2), '{'].slice(
          chance.below(3),
        )) {
          got.push(say(new URL(address, base).href, { body }));
        }
      });
    });
    stream.end();
  });

/** Anything but HTTP, or HTTP up to a point. */
const garbage: Deed = (target, chance) =>
  new Promise((resolve) => {
    const whole = Buffer.from(
      `POST /servers/${chance.pick(target.backends)}/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        `Content-Length: 46\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
    );
    const cut = whole.subarray(0, chance.below(whole.length));
    const spoilt = Buffer.from(whole);
    spoilt[chance.below(whole.length)] = chance.below(256);
    const pieces = chance.pick([[cut], [spoilt], [chance.bytes(500)], [cut, chance.bytes(50)], [whole, whole, spoilt]]);
    const socket = connect(Number(new URL(target.origin).port), '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => undefined);
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('latin1');
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? 0);
      if (text !== '' && status === 0) throw new Error(`no HTTP in return: ${text}`);
      resolve([{ status, headers: {}, text }]);
    });
    for (const piece of pieces) socket.write(piece);
    setTimeout(() => (chance.once(2) ? socket.destroy() : socket.end()), chance.below(60));
    setTimeout(() => socket.destroy(), PATIENCE_MS).unref();
  });

const killing: Deed = async ({ pid }, chance) => {
  const children = childrenOf(pid);
  if (children.length > 0) {
    try {
      process.kill(chance.pick(children), chance.pick(['SIGKILL', 'SIGTERM']));
    } catch {
      // It was faster.
    }
  }
  return [];
};

/** From /proc; empty on systems without it, and then no process is killed. */
export function childrenOf(parent: number): readonly number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => parentOf(pid) === parent)
      .map(Number);
  } catch {
    return [];
  }
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

const deeds: readonly Deed[] = [
  ...Array<Deed>(8).fill(modernRequest),
  ...Array<Deed>(4).fill(legacySession),
  ...Array<Deed>(2).fill(sseSession),
  ...Array<Deed>(4).fill(garbage),
  killing,
];

export interface Outcomes {
  deeds: number;
  /** How often each HTTP status was answered; 0 for no answer. */
  readonly statuses: Map<number, number>;
}

/** So many at once, each doing one thing after the other until the time is over. */
export async function traffic(target: Target, chance: Chance, forMs: number, actors: number): Promise<Outcomes> {
  const outcomes: Outcomes = { deeds: 0, statuses: new Map() };
  const end = Date.now() + forMs;
  const act = async () => {
    while (Date.now() < end) {
      for (const { status } of await chance.pick(deeds)(target, chance)) {
        outcomes.statuses.set(status, (outcomes.statuses.get(status) ?? 0) + 1);
      }
      outcomes.deeds += 1;
    }
  };
  await Promise.all(Array.from({ length: actors }, act));
  return outcomes;
}
