/** The request log, refusals in the log, and `X-Request-Id`. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { echo, request } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { configFile, serve } from '../harness/program.ts';

async function opened(more: ConfigValue = {}): Promise<TestGateway> {
  const backend = await modernBackend(echo);
  return startGateway({ backends: { b: { url: backend.url } }, ...more });
}

const logging = { log: { requests: true } };

function requests({ log }: TestGateway): readonly Readonly<Record<string, unknown>>[] {
  return log.filter(({ text }) => text === 'request').map(({ facts }) => facts);
}

function refusals({ log }: TestGateway): readonly unknown[] {
  return log.filter(({ text }) => text.startsWith('request refused')).map(({ facts }) => facts.reason);
}

const callWork = modern({ method: 'tools/call', params: { name: 'work', arguments: { secret: 'hunter2' } } });

it(
  'has one line for each message, with who, from where, what and how it ended',
  verifies('gateway:observe:request-log'),
  async () => {
    const gateway = await opened(logging);
    await send(gateway.url(), { ...callWork, headers: { ...callWork.headers, 'x-request-id': 'mine-1' } });
    await send(gateway.url(), modern({ method: 'tools/unknown' }));
    const session = await connectLegacy(gateway.url());
    await session.post(request(2, 'ping'));
    const [called, unknown, opening, , ping] = requests(gateway);
    expect(called).toEqual({
      requestId: 'mine-1',
      principal: 'local',
      address: '127.0.0.1',
      client: 'raw/1',
      endpoint: '/mcp',
      method: 'tools/call',
      name: 'work',
      backend: 'b',
      status: 200,
      outcome: 'result',
      reason: undefined,
      ms: expect.any(Number),
    });
    expect(unknown).toMatchObject({ method: 'tools/unknown', outcome: 'error', status: 404, reason: 'method_removed' });
    expect(opening).toMatchObject({ method: 'initialize', outcome: 'result', status: 200, client: 'raw/1' });
    expect(ping).toMatchObject({ method: 'ping', outcome: 'result', status: 200 });
    expect(JSON.stringify(gateway.log)).not.toContain('hunter2');
  },
);

it(
  'has no line for a request that is served, unless it is asked for',
  verifies('gateway:observe:request-log'),
  async () => {
    const gateway = await opened();
    const answer = await send(gateway.url(), callWork);
    expect(requests(gateway)).toEqual([]);
    expect(answer.headers['x-request-id']).toBeUndefined();
  },
);

it('cuts what clients choose, and keeps it on its line', verifies('gateway:observe:request-log'), async () => {
  const gateway = await opened(logging);
  const long = 'x'.repeat(10_000);
  const meta = { 'io.modelcontextprotocol/clientInfo': { name: `a\nb${long}`, version: '1' } };
  await send(
    gateway.url(),
    modern({ method: 'tools/call', params: { name: long, arguments: {} }, meta, headers: { 'mcp-name': long } }),
  );
  const [line] = requests(gateway);
  expect(String(line?.name)).toHaveLength(128);
  expect(String(line?.client)).toHaveLength(128);
  expect(String(line?.client)).not.toContain('\n');
});

it.each([
  { name: 'is kept', given: 'a-b_c/1', kept: true },
  { name: 'that is too long is replaced', given: 'x'.repeat(129), kept: false },
  { name: 'with a space is replaced', given: 'a b', kept: false },
])("a client's X-Request-Id $name, and answered", verifies('gateway:observe:request-id'), async ({ given, kept }) => {
  const gateway = await opened(logging);
  for (const target of [gateway.url(), `${gateway.origin}/nowhere`]) {
    const answer = await send(target, { ...callWork, headers: { ...callWork.headers, 'x-request-id': given } });
    const answered = answer.headers['x-request-id'];
    if (kept) expect(answered).toBe(given);
    else expect(answered).toMatch(/^[0-9a-f-]{36}$/);
  }
});

it(
  'a request without an X-Request-Id gets one while the request log is on',
  verifies('gateway:observe:request-id'),
  async () => {
    const gateway = await opened(logging);
    const answer = await send(gateway.url(), callWork);
    expect(answer.headers['x-request-id']).toBe(requests(gateway)[0]?.requestId);
  },
);

it.each([
  { reason: 'parse_error', call: { body: '{"nonsense' } },
  { reason: 'invalid_request', call: { body: { nonsense: true } } },
  { reason: 'path_not_found', path: '/nowhere', call: { body: {} } },
  { reason: 'unsupported_media_type', call: { body: {}, headers: { 'content-type': 'text/plain' } } },
  { reason: 'session_not_found', call: { body: request(1, 'tools/list'), headers: { 'mcp-session-id': 'gone' } } },
  { reason: 'unsupported_mcp_batch', call: { body: [request(1, 'tools/list')] } },
])(
  'a refusal for $reason is one log line per address, however often it happens',
  verifies('gateway:observe:refusals'),
  async ({ reason, path, call }) => {
    const gateway = await opened();
    for (let n = 0; n < 3; n++) await send(path === undefined ? gateway.url() : `${gateway.origin}${path}`, call);
    expect(refusals(gateway)).toEqual([reason]);
    const [entry] = gateway.log.filter(({ text }) => text.startsWith('request refused'));
    expect(entry?.facts).toMatchObject({ address: '127.0.0.1', path: path ?? '/mcp' });
  },
);

it('a key in the query is in no line about a refusal', verifies('gateway:observe:refusals'), async () => {
  const gateway = await opened();
  await send(`${gateway.origin}/nowhere?key=hunter2`, { body: {} });
  expect(refusals(gateway)).toEqual(['path_not_found']);
  expect(JSON.stringify(gateway.log)).not.toContain('hunter2');
});

it(
  '--log-requests turns it on; lines are JSON with the time and the level by name',
  verifies('gateway:observe:request-log'),
  async () => {
    const backend = await modernBackend(echo);
    const config = configFile({ backends: { b: { url: backend.url } } });
    const { program, url } = await serve(['--log-requests'], config);
    await send(url(), callWork);
    program.kill('SIGTERM');
    await program.end();
    const lines = program.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [line] = lines.filter(({ msg }) => msg === 'request');
    expect(line).toMatchObject({ level: 'info', method: 'tools/call', name: 'work', status: 200 });
    expect(new Date(line.time).toISOString()).toBe(line.time);
  },
);
