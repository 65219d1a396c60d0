/** Keys, scopes, policy, rates, audit records, and JSON-RPC services. */
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { uri } from './behaviour.ts';
import { type Client, LegacyHttpClient, ModernHttpClient } from './clients.ts';
import type { HttpRequest } from './http.ts';
import { type OperationRow, playAll } from './operations.ts';
import type { Player } from './player.ts';
import { backendsOf, type Stage } from './stages.ts';

const salt = 'the salt of the transcripts';
const secretOf = (id: string) => id.padEnd(43, '_');
const keyOf = (id: string) => `bsc_${id}_${secretOf(id)}`;
const keyRows = [
  { id: 'ada000000000', name: 'ada', scopes: ['use', 'call'] },
  { id: 'guest0000000', name: 'guest', scopes: ['use'] },
  { id: 'nobody000000', name: 'nobody', scopes: [] },
  { id: 'late00000000', name: 'late', scopes: ['use', 'call'], expires: '2020-01-01T00:00:00Z' },
];

export function writeKeys({ folder }: Player): void {
  const keys = keyRows.map((row) => ({
    ...{
      created: '2026-01-01T00:00:00Z',
      hash: createHmac('sha256', salt).update(secretOf(row.id)).digest('base64url'),
    },
    ...row,
  }));
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ version: 1, salt, keys }), { mode: 0o600 });
}

const bearer = (id: string) => ({ Authorization: `Bearer ${keyOf(id)}` });
export const ada = bearer('ada000000000');
const guest = bearer('guest0000000');

const tool = (name: string, args: object = {}): OperationRow => ({
  ...{ kind: 'policy', name: `tool ${name} ${JSON.stringify(args)}`, method: 'tools/call' },
  params: { name, arguments: args },
});
const plain = (method: string, params: Record<string, unknown> = {}): OperationRow => ({
  ...{ kind: 'policy', name: `${method} ${JSON.stringify(params)}`, method, params },
});

/** Half of these are denied by the rules below. */
const judged: readonly OperationRow[] = [
  plain('tools/list'),
  plain('prompts/list'),
  plain('resources/list'),
  plain('resources/templates/list'),
  tool('echo', { path: '/public/a', force: false }),
  tool('echo', { path: '/secret/a' }),
  tool('echo', { path: '/public/../secret/a' }),
  tool('echo', { force: true }),
  tool('echo', { force: 'true' }),
  tool('echo', { Force: true }),
  tool('echo', { password: 'p', iban: 'DE00', deep: { pin: 1, token: 't' } }),
  tool('structured', { amount: 50 }),
  tool('structured', { amount: 500 }),
  tool('structured', { amount: '50' }),
  tool('structured'),
  tool('fail'),
  tool('error'),
  tool('watched'),
  tool('elicit'),
  tool('sample'),
  tool('roots'),
  tool('no_such_tool'),
  plain('prompts/get', { name: 'greet' }),
  plain('prompts/get', { name: 'd_prompt' }),
  plain('resources/read', { uri }),
  plain('resources/read', { uri: 'demo://secret/1' }),
  plain('resources/read', { uri: 'DEMO://secret/1' }),
  plain('resources/read', { uri: 'demo://note/../secret/1' }),
  { ...plain('resources/subscribe', { uri }), era: 'legacy' },
  { ...plain('resources/subscribe', { uri: 'demo://secret/1' }), era: 'legacy' },
  plain('completion/complete', { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: '' } }),
  { ...plain('logging/setLevel', { level: 'debug' }), era: 'legacy' },
  plain('tasks/list'),
];

const rules = [
  { id: 'all', effect: 'allow', what: ['call', 'get', 'read', 'subscribe', 'complete', 'rpc'] },
  { id: 'no-fail', effect: 'deny', what: ['call'], on: { tools: ['fail', '*__fail'] } },
  { id: 'no-force', effect: 'deny', what: ['call'], with: { arguments: { force: { equals: true } } } },
  { id: 'no-secret-path', effect: 'deny', with: { arguments: { path: { glob: '/secret/**' } } } },
  { id: 'no-secret', effect: 'deny', on: { uris: ['demo://secret/**'] } },
  { id: 'large', effect: 'deny', on: { tools: ['structured'] }, when: 'arguments.amount > 100' },
  { id: 'no-d', effect: 'deny', on: { prompts: ['d_prompt'] } },
  { id: 'no-sampling', effect: 'deny', on: { asks: ['sampling'] } },
  { id: 'guests-do-not-read', effect: 'deny', who: { keys: ['guest'] }, what: ['read'] },
  { id: 'watch', effect: 'deny', mode: 'audit', on: { tools: ['watched', 'echo'] } },
  { id: 'no-wipe', effect: 'deny', what: ['rpc'], on: { methods: ['wipe*'] } },
];

const rates = [
  { id: 'errors', per: ['principal'], on: { tools: ['error'] }, perSecond: 0.01, burst: 3 },
  { id: 'pays', per: ['method'], on: { methods: ['slow'] }, perSecond: 0.01, burst: 2 },
];

const names = ['b202511', 'bmodern', 'b202506', 'ledger'];
const denials = ['error', 'http403', 'hide'] as const;

function configOf(backends: Record<string, object>, mode: 'enforce' | 'audit'): object {
  return {
    backends,
    endpoints: [
      ...denials.flatMap((how) =>
        ['b202511', 'bmodern'].map((name) => ({ path: `/${how}/${name}`, backends: [name], denials: how })),
      ),
      { path: '/mcp', backends: ['b202511', 'bmodern', 'b202506'], names: 'collision' },
      { path: '/open', backends: ['bmodern'], identity: 'none' },
      { path: '/rpc', protocol: 'json-rpc', backends: ['ledger'] },
      { path: '/rpc-single', protocol: 'json-rpc', backends: ['ledger'], profile: { batches: 'deny' } },
    ],
    identity: {
      keys: { file: 'keys.json', header: 'x-access-key' },
      scopes: { required: ['use'], methods: { 'tools/call': ['call'] }, implies: { admin: ['use', 'call'] } },
    },
    policy: { mode, rules },
    rates,
    audit: { to: 'audit.jsonl', arguments: { of: ['*'], redact: ['iban', '**.pin'] } },
  };
}

export const guarded: Stage = {
  name: 'guarded',
  play: async (player, backends) => {
    writeKeys(player);
    await player.start(configOf(backendsOf(backends, names), 'enforce'), 'serve', names.slice(0, 3));
    await credentials(player);
    for (const how of denials)
      for (const name of ['b202511', 'bmodern']) {
        const path = `/${how}/${name}`;
        const legacy = new LegacyHttpClient(player, `denials ${how}, ${name}, legacy`, '2025-11-25', path, ada);
        await playJudged(legacy);
        await playJudged(new ModernHttpClient(player, `denials ${how}, ${name}, modern`, path, ada));
      }
    await playJudged(new ModernHttpClient(player, 'a guest, merged', '/mcp', guest));
    await playJudged(new LegacyHttpClient(player, 'ada, merged', '2025-06-18', '/mcp', ada));
    await playRates(player);
    await services(player);
    await player.stop();
  },
};

async function playJudged(client: Client): Promise<void> {
  await client.open();
  await client.listen();
  await playAll(client, judged);
  await client.close();
}

/** The same rules, in audit mode: everything passes, and the records say what would not. */
export const watched: Stage = {
  name: 'watched',
  play: async (player, backends) => {
    writeKeys(player);
    await player.start(configOf(backendsOf(backends, names), 'audit'), 'serve', names.slice(0, 3));
    await playJudged(new ModernHttpClient(player, 'modern', '/error/bmodern', ada));
    await playJudged(new LegacyHttpClient(player, 'legacy', '2025-11-25', '/error/b202511', ada));
    await player.stop();
  },
};

async function credentials(player: Player): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const rows: Readonly<Record<string, HttpRequest['headers']>> = {
    nothing: {},
    'a key': ada,
    'a key in its header': { 'X-Access-Key': keyOf('ada000000000') },
    'a key that has ended': bearer('late00000000'),
    'a key without scopes': bearer('nobody000000'),
    'a key that nobody has': bearer('other0000000'),
    'a key with another secret': { Authorization: `Bearer ${keyOf('ada000000000').slice(0, -1)}x` },
    'a malformed key': { Authorization: 'Bearer bsc_x' },
    'no bearer': { Authorization: 'Basic YTpi' },
    'an empty bearer': { Authorization: 'Bearer ' },
    'two ways at once': { ...ada, 'X-Access-Key': keyOf('guest0000000') },
    'a token of nobody': { Authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' },
  };
  for (const path of ['/error/b202511', '/error/bmodern', '/rpc', '/open', '/nothing', '/servers/x/mcp'])
    for (const [name, headers = {}] of Object.entries(rows))
      await player.play(
        'credentials',
        `${path}, ${name}`,
        async () => void (await player.http({ path, headers, body })),
      );
  for (const [method, path] of [
    ...[['GET', '/error/b202511'] as const, ['DELETE', '/error/b202511'] as const, ['OPTIONS', '/rpc'] as const],
    ...[['GET', '/readyz'] as const, ['GET', '/.well-known/oauth-protected-resource/error/b202511'] as const],
  ])
    await player.play('credentials', `${method} ${path}`, async () => void (await player.http({ method, path })));
  const call = { method: 'tools/call', params: { name: 'echo', arguments: {} } };
  for (const [name, headers] of Object.entries({ guest, nobody: bearer('nobody000000') }))
    await new ModernHttpClient(player, `scopes of ${name}`, '/error/bmodern', headers).request(
      'credentials',
      'call',
      call,
    );
  const session = new LegacyHttpClient(player, 'a session of ada', '2025-11-25', '/error/b202511', ada);
  await session.open();
  await player.play('credentials', 'a session of somebody else', async () => {
    await player.http({ path: '/error/b202511', headers: { ...session.headers, ...guest }, body });
  });
}

async function playRates(player: Player): Promise<void> {
  const client = new ModernHttpClient(player, 'rates', '/http403/bmodern', ada);
  const legacy = new LegacyHttpClient(player, 'rates, legacy', '2025-11-25', '/http403/b202511', ada);
  await legacy.open();
  for (let turn = 0; turn < 4; turn += 1) {
    await client.request('rate', 'call', { method: 'tools/call', params: { name: 'error' } });
    await legacy.request('rate', 'call', { method: 'tools/call', params: { name: 'error' } });
    await player.play('rate', 'a minute passes', () => player.advance(60_000));
  }
}

async function services(player: Player): Promise<void> {
  const one = (method: unknown, params?: unknown, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params });
  const bodies: Readonly<Record<string, unknown>> = {
    'a request': one('balance', { of: 'me' }),
    'no params': one('balance'),
    'params by position': one('balance', [1, 2]),
    'a notification': one('note', {}, undefined),
    'a text as id': one('balance', {}, 'a'),
    'id null': one('balance', {}, null),
    denied: one('wipe', {}),
    'a denied notification': one('wipe', {}, undefined),
    force: one('pay', { force: true }),
    'a batch': [one('balance', {}, 1), one('list', { a: 1.0 }, 2), one('note', {}, undefined)],
    'a batch with one denied': [one('balance', {}, 1), one('wipe', {}, 2)],
    'a batch of notifications': [one('note', {}, undefined)],
    'a batch of denied notifications': [one('wipe', {}, undefined)],
    'an empty batch': [],
    'a batch with something else': [one('balance'), 5],
    'a method of MCP': one('tools/call', { name: 'echo' }),
    'a reserved method': one('rpc.discover'),
    'an answer': { jsonrpc: '2.0', id: 1, result: {} },
    'members of its own': { ...one('balance', {}), 'x-extra': 1 },
    'a method that is a number': one(5),
    'a rate, once': one('slow'),
    'a rate, twice': one('slow'),
    'a rate, thrice': one('slow'),
  };
  const texts: Readonly<Record<string, string>> = {
    ...Object.fromEntries(Object.entries(bodies).map(([name, value]) => [name, JSON.stringify(value)])),
    'unusual spelling': '{ "id" : 1.0e0, "params":{"n":1.50},"method":"balance" , "jsonrpc":"2.0"}',
    'a twin': '{"jsonrpc":"2.0","id":1,"method":"balance","Method":"wipe"}',
    'no JSON': '{',
  };
  for (const [path, headers] of [
    ['/rpc', ada],
    ['/rpc-single', guest],
  ] as const)
    for (const [name, body] of Object.entries(texts))
      await player.play('json-rpc', `${path}, ${name}`, async () => void (await player.http({ path, headers, body })));
  for (const method of ['GET', 'DELETE'])
    await player.play(
      'json-rpc',
      `${method} /rpc`,
      async () => void (await player.http({ method, path: '/rpc', headers: ada })),
    );
}
