/** A gateway with two endpoints, one for both backends and one for the first alone, and every transport. */
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { serveStdio } from '../../../src/downstream/stdio.ts';
import type { Audit, AuditRecord } from '../../../src/observe/audit.ts';
import type { Era } from '../../../src/wire/revisions.ts';
import { RecordingNotes } from '../../downstream/harness.ts';
import { type Json, send, until } from '../harness/client.ts';
import { connectLegacy, initialize, modern, modernMeta } from '../harness/eras.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script, type ScriptedBackend } from '../harness/http-backend.ts';
import { SseClient } from '../harness/sse-client.ts';

export interface House {
  readonly gateway: TestGateway;
  readonly a: ScriptedBackend;
  readonly b: ScriptedBackend;
  readonly records: AuditRecord[];
  /** Whether the trail has room: asked where the config says `onFailure: deny`. */
  canRecord: boolean;
  /** The same gateway with other top-level settings. */
  reload(more: ConfigValue): void;
  /** Nothing that comes from now on was there before. */
  forget(): void;
  /** Bytes at both backends since then. */
  readonly bytes: number;
}

export interface Plan {
  /** Of both backends. */
  readonly era?: Era;
  readonly script?: Script;
  /** Of both endpoints. */
  readonly endpoint?: ConfigValue;
  /** Of both backends, beside the address. */
  readonly backend?: ConfigValue;
  /** `policy`, `rates` and whatever else stands at the top. */
  readonly more?: ConfigValue;
}

export const paths = { merged: '/mcp', single: '/one/mcp' } as const;
export type Where = keyof typeof paths;

export const tools = ['read_file', 'delete_file', 'list_files'];

const goods: Script = {
  'tools/list': (turn) =>
    turn.result({
      resultType: 'complete',
      tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })),
      ttlMs: 60_000,
      cacheScope: 'public',
    }),
  'tools/call': (turn) =>
    turn.result({ resultType: 'complete', content: [{ type: 'text', text: turn.message.params.name }] }),
};

export async function openHouse({ era = 'modern', script, endpoint, backend, more }: Plan = {}): Promise<House> {
  const launch = era === 'modern' ? modernBackend : legacyBackend;
  const [a, b] = await Promise.all([launch({ ...goods, ...script }), launch({ ...goods, ...script })]);
  const records: AuditRecord[] = [];
  const audit: Audit = {
    write: (record) => void records.push(record),
    reserve: () => house.canRecord,
    close: async () => undefined,
  };
  const plan = {
    backends: { a: { url: a.url, ...backend }, b: { url: b.url, ...backend } },
    endpoints: [
      { path: paths.merged, ...endpoint },
      { path: paths.single, backends: ['a'], ...endpoint },
    ],
  };
  const gateway = await startGateway({ ...plan, ...more }, { audit });
  const house: House = {
    gateway,
    a,
    b,
    records,
    canRecord: true,
    reload: (other) => gateway.reload({ ...plan, ...other }),
    forget: () => {
      a.forget();
      b.forget();
      records.length = 0;
    },
    get bytes() {
      return a.bytes + b.bytes;
    },
  };
  return house;
}

/** What the first backend's thing is called there. */
export function named(where: Where, name: string): string {
  return where === 'merged' ? `a__${name}` : name;
}

/** One client, in the same words whatever its way in is. */
export interface Speaker {
  /** A request, or whatever else is answered; resolves with the message that answers it. */
  ask(body: Json): Promise<Json>;
  /** What is no request. The status where there is one. */
  tell(body: Json): Promise<number | undefined>;
}

export interface Way {
  readonly name: string;
  readonly where: Where;
  enter(house: House): Promise<Speaker>;
}

const urlOf = ({ gateway }: House, where: Where) => `${gateway.origin}${paths[where]}`;

function streamableLegacy(where: Where, revision = '2025-11-25'): Way {
  return {
    name: `Streamable HTTP, legacy, ${where}`,
    where,
    enter: async (house) => {
      const client = await connectLegacy(urlOf(house, where), { revision });
      return {
        ask: async (body) => (await client.post(body)).json(),
        tell: async (body) => (await client.post(body)).status,
      };
    },
  };
}

function streamableModern(where: Where): Way {
  return {
    name: `Streamable HTTP, modern, ${where}`,
    where,
    enter: async (house) => {
      const url = urlOf(house, where);
      const version = { 'mcp-protocol-version': '2026-07-28' };
      return {
        ask: async (body) => (await send(url, Array.isArray(body) ? { body, headers: version } : modern(body))).json(),
        tell: async (body) => (await send(url, { body, headers: version })).status,
      };
    },
  };
}

function httpSse(where: Where): Way {
  return {
    name: `HTTP+SSE, ${where}`,
    where,
    enter: async (house) => {
      const client = await SseClient.connect(urlOf(house, where).replace(/mcp$/, 'sse'));
      return {
        ask: async (body) => {
          const before = client.heard.length;
          const posted = await client.post(body);
          // What cannot be taken at all is said at once.
          if (posted.status !== 202) return posted.json();
          const answers = () => client.heard.slice(before).filter((one) => isAnswer(one, body));
          await until(() => answers().length > 0, 'the answer came on the stream');
          return answers()[0];
        },
        tell: async (body) => (await client.post(body)).status,
      };
    },
  };
}

/** An error without an id answers whatever was refused as a whole. */
function isAnswer(one: Json, body: Json): boolean {
  return one.method === undefined && (Array.isArray(body) || one.id === undefined || one.id === body.id);
}

function stdio(where: Where, era: Era): Way {
  return {
    name: `stdio, ${era}, ${where}`,
    where,
    enter: async ({ gateway }) => {
      const line = openLine(gateway, where);
      if (era === 'legacy') {
        await line.ask(initialize());
        line.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
      }
      const inEra = (body: Json) =>
        era === 'legacy' || Array.isArray(body) ? body : { ...body, params: { ...body.params, _meta: modernMeta() } };
      return {
        ask: (body) => line.ask(inEra({ jsonrpc: '2.0', id: 1, ...body }), body),
        tell: async (body) => {
          line.say(body);
          return undefined;
        },
      };
    },
  };
}

function openLine(gateway: TestGateway, where: Where) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const heard: Json[] = [];
  let rest = '';
  output.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    heard.push(...lines.map((text) => JSON.parse(text)));
  });
  const { config, assembled } = gateway;
  const endpoint = config.endpoints.find(({ path }) => path === paths[where]);
  if (endpoint === undefined) throw new Error('no such endpoint');
  const notes = new RecordingNotes();
  const { limits } = config;
  const served = serveStdio({ input, output, gateway: assembled.gateway, endpoint, limits, notes });
  onTestFinished(async () => {
    input.end();
    await served;
  });
  const say = (body: Json) => void input.write(`${JSON.stringify(body)}\n`);
  return {
    say,
    ask: async (body: Json, meant: Json = body): Promise<Json> => {
      const before = heard.length;
      say(Array.isArray(meant) ? meant : body);
      const answers = () => heard.slice(before).filter((one) => isAnswer(one, Array.isArray(meant) ? meant : body));
      await until(() => answers().length > 0, 'the answer came on the line');
      return answers()[0];
    },
  };
}

const wheres = Object.keys(paths) as readonly Where[];

/** Every way in that there is. */
export const ways: readonly Way[] = wheres.flatMap((where) => [
  streamableLegacy(where),
  streamableModern(where),
  httpSse(where),
  stdio(where, 'legacy'),
  stdio(where, 'modern'),
]);

export const legacyWays = ways.filter(({ name }) => !name.includes('modern'));
export const batchWay = (where: Where) => streamableLegacy(where, '2025-03-26');

export function call(name: string, args: object = {}): Json {
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
}
