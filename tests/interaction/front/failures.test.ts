/** What goes wrong behind the gates: told inside the exchange, by name, and to nobody else. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { failures } from '../../../src/errors/failure.ts';
import type { Era } from '../../../src/wire/revisions.ts';
import { verifies } from '../../requirements/verifies.ts';
import { refusal, request, text } from '../harness/behind.ts';
import { type Answer, send } from '../harness/client.ts';
import { connectLegacy, eras, initialize, modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script, type ScriptedBackend, type Turn } from '../harness/http-backend.ts';
import { withHeaders } from '../modern/setup.ts';
import { faults } from './faults.ts';

const params = { name: 'work', arguments: {} };

function backendOf(era: Era, script: Script): Promise<ScriptedBackend> {
  return (era === 'legacy' ? legacyBackend : modernBackend)(script);
}

function behind(...backends: readonly ScriptedBackend[]): Promise<TestGateway> {
  return startGateway({
    backends: Object.fromEntries(backends.map(({ url }, index) => [`b${index}`, { url }])),
    // Once is enough to see that it does not come back.
    limits: { reconnects: 0 },
  });
}

/** One call of that era's client, with the id 7. */
async function callAs(era: Era, url: string): Promise<Answer> {
  if (era === 'modern') return send(url, modern({ id: 7, method: 'tools/call', params }));
  const client = await connectLegacy(url);
  return client.post(request(7, 'tools/call', params));
}

/** The error of an answer, whichever form it has. */
function toldIn(answer: Answer): unknown {
  const [event] = answer.events.filter(({ data }) => Boolean(data));
  return event === undefined ? answer.json() : event.json();
}

const unavailable = (message = expect.stringMatching(/^Backend unavailable/)) =>
  refusal({ code: -32603, message, reason: 'backend_unavailable', id: 7 });
const invalid = (message = expect.stringMatching(/^Backend sent an invalid response/)) =>
  refusal({ code: -32603, message, reason: 'backend_invalid', id: 7 });

interface Misbehaviour {
  readonly name: string;
  readonly call: (turn: Turn) => void;
  readonly message?: string;
}

const down: readonly Misbehaviour[] = [
  { name: 'cuts the connection', call: (turn) => turn.cut() },
  {
    name: 'cuts it in the middle of JSON',
    call: (turn) => {
      turn.stream({ 'content-type': 'application/json', 'content-length': '1000' }).bytes('{"jsonrpc":"2.0",');
      turn.cut();
    },
  },
  {
    name: 'cuts it in the middle of an event',
    call: (turn) => {
      turn.stream().bytes('data: {"jsonrpc":"2.0",');
      turn.cut();
    },
  },
  { name: 'answers 500', call: (turn) => turn.raw(500, { 'content-type': 'text/html' }, '<h1>Oops</h1>') },
  { name: 'answers 503', call: (turn) => turn.raw(503, {}) },
  { name: 'requires credentials', call: (turn) => turn.raw(401, { 'www-authenticate': 'Bearer' }) },
];

const nonsense: readonly Misbehaviour[] = [
  { name: 'a page', call: (turn) => turn.raw(200, { 'content-type': 'text/html' }, '<h1>Hello</h1>') },
  { name: 'no JSON', call: (turn) => turn.json('{"jsonrpc":"2.0","id":') },
  { name: 'JSON that is no message', call: (turn) => turn.json({ ok: true }) },
  { name: 'nothing', call: (turn) => turn.raw(200, { 'content-type': 'application/json' }) },
  { name: '202', call: (turn) => turn.raw(202, {}) },
  { name: '204', call: (turn) => turn.raw(204, {}) },
  { name: 'an empty stream', call: (turn) => turn.stream().end() },
  { name: 'an event that is no JSON', call: (turn) => turn.stream().bytes('data: hello\n\n').end() },
  { name: 'a redirect', call: (turn) => turn.raw(302, { location: 'http://127.0.0.1:1/' }) },
];

describe.each(eras)('a %s backend', (era) => {
  describe(
    'that was cut off',
    verifies('gateway:failure:backend-unavailable', 'gateway:gates:status-200-inside'),
    () => {
      it.each(down)('$name', async ({ call }) => {
        const backend = await backendOf(era, { 'tools/call': call });
        const gateway = await behind(backend);
        for (const client of eras) {
          const answer = await callAs(client, gateway.url());
          expect(answer.status).toBe(200);
          expect(toldIn(answer)).toEqual(unavailable());
        }
      });
    },
  );

  describe(
    'that sends an invalid response',
    verifies('gateway:failure:backend-invalid', 'gateway:gates:status-200-inside'),
    () => {
      it.each(nonsense)('$name', async ({ call }) => {
        const backend = await backendOf(era, { 'tools/call': call });
        const gateway = await behind(backend);
        for (const client of eras) {
          const answer = await callAs(client, gateway.url());
          expect(answer.status).toBe(200);
          expect(toldIn(answer)).toEqual(invalid(expect.any(String)));
        }
      });
    },
  );

  it('that answers with an error is passed on unchanged', verifies('gateway:gates:status-200-inside'), async () => {
    const error = { code: -32000, message: 'Out of paper', data: { tray: 2 } };
    const backend = await backendOf(era, {
      'tools/call': (turn) => turn.error(error.code, error.message, error.data, 400),
    });
    const gateway = await behind(backend);
    for (const client of eras) {
      const answer = await callAs(client, gateway.url());
      expect({ status: answer.status, told: toldIn(answer) }).toEqual({
        status: 200,
        told: { jsonrpc: '2.0', id: 7, error },
      });
    }
  });
});

describe(
  'a backend that is down',
  verifies('gateway:failure:backend-unavailable', 'gateway:gates:status-200-inside'),
  () => {
    const absent: readonly { name: string; config: ConfigValue; message: RegExp }[] = [
      { name: 'connection refused', config: { url: 'http://127.0.0.1:1/mcp' }, message: /^Backend unavailable/ },
      { name: 'the command does not exist', config: { command: '/nonexistent/server' }, message: /^Backend/ },
      { name: 'the command ends at once', config: { command: 'false' }, message: /^Backend/ },
    ];
    it.each(absent)('$name', async ({ config, message }) => {
      const gateway = await startGateway({ backends: { b: config } });
      const said = { ...initialize(), id: 7 };
      const answers = [
        await send(gateway.url(), { body: said }),
        await send(gateway.url(), modern({ id: 7, method: 'tools/call', params })),
        await send(gateway.url(), modern({ id: 7, method: 'server/discover' })),
      ];
      for (const answer of answers) {
        expect(answer.status).toBe(200);
        expect(answer.headers['mcp-session-id']).toBeUndefined();
        // Later ones are refused at once, and told when the backend is looked at again.
        const told = answer.json();
        delete told.error.data.retryAfterMs;
        expect(told).toEqual(unavailable(expect.stringMatching(message)));
      }
    });
  },
);

describe('one broken backend', verifies('gateway:failure:others-unaffected'), () => {
  const works: Script = { 'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('fine') }) };
  const broken: readonly { name: string; config: () => Promise<ConfigValue> }[] = [
    { name: 'is down', config: async () => ({ url: 'http://127.0.0.1:1/mcp' }) },
    {
      name: 'never answers',
      config: async () => ({ url: (await modernBackend({ 'server/discover': () => undefined })).url }),
    },
    {
      name: 'sends an invalid response',
      config: async () => ({
        url: (await modernBackend({ 'server/discover': (turn) => turn.raw(200, {}, 'hello') })).url,
      }),
    },
    { name: 'does not start', config: async () => ({ command: '/nonexistent/server' }) },
  ];
  it.each(broken)('leaves the others working: it $name', async ({ config }) => {
    const [legacy, newer] = [await legacyBackend(works), await modernBackend(works)];
    const gateway = await startGateway({
      backends: { broken: await config(), legacy: { url: legacy.url }, modern: { url: newer.url } },
      limits: { probeMs: 600_000, firstByteMs: 600_000 },
    });
    const waiting = callAs('modern', gateway.url('broken')).catch(() => undefined);
    for (const backend of ['legacy', 'modern']) {
      for (const client of eras) {
        expect((await callAs(client, gateway.url(backend))).json()).toMatchObject({ id: 7, result: text('fine') });
      }
    }
    await gateway.close();
    await waiting;
  });
});

describe('a crash in our own code', verifies('gateway:failure:opaque-internal'), () => {
  const secret = new TypeError('secret of /etc/passwd');
  const opaque = (logId: unknown, id?: number) =>
    refusal({ code: -32603, message: 'Internal error', reason: 'internal_error', data: { logId }, ...(id && { id }) });

  /** The answer names an entry of the log, and the log alone has the text. */
  function expectOpaque(gateway: TestGateway, answer: Answer, status: number, id?: number): void {
    const body = answer.json();
    const { logId } = body.error.data;
    expect({ status: answer.status, body }).toEqual({ status, body: opaque(logId, id) });
    expect(answer.body).not.toContain('secret');
    const [entry, ...others] = gateway.log.filter(({ facts }) => facts.logId === logId);
    expect(others).toEqual([]);
    expect(entry?.level).toBe('error');
    expect(entry?.facts.cause).toContain('secret of /etc/passwd');
    expect(entry?.facts.cause).toContain('failures.test.ts');
  }

  it.each(eras)('while a %s request is served', async (era) => {
    const backend = await backendOf('modern', {});
    const gateway = await behind(backend);
    const [broken] = gateway.assembled.backends;
    if (broken === undefined) throw new Error('no backend');
    vi.spyOn(broken, 'discover').mockRejectedValue(secret);
    const call = era === 'modern' ? modern({ id: 7, method: 'tools/list' }) : { body: { ...initialize(), id: 7 } };
    expectOpaque(gateway, await send(gateway.url(), call), 200, 7);
    expect(backend.bytes).toBe(0);
  });

  it('during authentication', async () => {
    const gateway = await behind(await modernBackend());
    const { gateway: spine } = gateway.assembled;
    const receive = vi.spyOn(spine, 'receive').mockImplementation(() => {
      throw secret;
    });
    const call = modern({ id: 7, method: 'tools/list' });
    expectOpaque(gateway, await send(gateway.url(), call), 200, 7);
    const notification = withHeaders({ ...call, body: { jsonrpc: '2.0', method: 'x' } }, {});
    expectOpaque(gateway, await send(gateway.url(), notification), 500);
    receive.mockRestore();
    vi.spyOn(spine, 'listen').mockRejectedValue(secret);
    expectOpaque(gateway, await send(gateway.url(), { method: 'GET' }), 500);
    // And nothing else has suffered.
    expect((await send(gateway.url(), modern({ id: 7, method: 'server/discover' }))).status).toBe(200);
  });
});

describe('reasons', verifies('gateway:failure:closed-reasons'), () => {
  const page = readFileSync('docs/errors.md', 'utf8');
  const documented = [...page.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \| ([^|]+) \|/gm)].map(
    ([, reason = '', status, code]) => ({
      reason,
      status: Number(status),
      code: String(code).trim(),
    }),
  );

  it('are documented, all of them and no others, with their form on the wire', () => {
    const table = Object.entries(failures).map(([reason, { status, legacy, modern: newer }]) => ({
      reason,
      status,
      code: legacy === newer ? String(legacy) : `${legacy} legacy, ${newer} modern`,
    }));
    expect(documented).toEqual(table);
  });

  it('are those that the gates answer with', () => {
    const known = new Map(documented.map((row) => [row.reason, row]));
    for (const { name, status, refusal: told } of faults) {
      expect(known.get(told.reason), name).toMatchObject({ status });
    }
  });

  it('are documented from the table itself', async () => {
    const check = promisify(execFile)(process.execPath, ['--import', 'tsx', 'scripts/write-errors-doc.ts', '--check']);
    await expect(check).resolves.toEqual({ stdout: '', stderr: '' });
  });
});
