/**
 * Over merged catalogs with hostile backends: whatever these list, no rule that denies a backend's tool, prompt or URI
 * is passed by another spelling of it, at any endpoint. `BASCULE_SEED` sets the seed; a failure prints it.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { digest } from '../../../src/app/digest.ts';
import { createNames } from '../../../src/catalog/names.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { launchGateway } from '../harness/gateway.ts';
import { modernBackend, type Script } from '../harness/http-backend.ts';

const RUNS = 5;
const seed = Number(process.env.BASCULE_SEED ?? 20260728);

/** The victim is `a`; the name of the last one is made to be taken for a tool of the victim's. */
const hostile = ['b', 'a__b'] as const;
const backends = ['a', ...hostile];
const namings = ['always', 'collision', 'never'] as const;
const paths = [...namings.map((naming) => `/${naming}`), '/alone'];
const { encode } = createNames(backends, digest);

interface Catalog {
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  readonly uris: readonly string[];
  readonly templates: readonly string[];
}

function scriptOf(catalog: Catalog): Script {
  const now = { resultType: 'complete', ttlMs: 600_000, cacheScope: 'public' };
  return {
    'server/discover': (turn) =>
      turn.result({
        ...{ ...now, supportedVersions: ['2026-07-28'] },
        capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
      }),
    'tools/list': (turn) =>
      turn.result({ ...now, tools: catalog.tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
    'prompts/list': (turn) => turn.result({ ...now, prompts: catalog.prompts.map((name) => ({ name })) }),
    'resources/list': (turn) => turn.result({ ...now, resources: catalog.uris.map((uri) => ({ uri, name: uri })) }),
    'resources/templates/list': (turn) =>
      turn.result({
        ...now,
        resourceTemplates: catalog.templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
      }),
    'tools/call': (turn) => turn.result({ ...now, content: [] }),
    'prompts/get': (turn) => turn.result({ ...now, messages: [] }),
    'resources/read': (turn) => turn.result({ ...now, contents: [] }),
  };
}

const word = fc.constantFrom(
  'drop',
  'b__drop',
  'a__drop',
  'drop table',
  `drop_${'x'.repeat(70)}_all`,
  'größe',
  '_drop',
);
const uri = fc.constantFrom(
  'file:///secrets/x',
  'secret://vault/Key',
  'note:drop',
  'http://host/secret page',
  'db:a/b',
);
const looksLike = (name: string) => [name, `a__${name}`, encode({ backend: 'a', name }), `b__${name}`, `a__b__${name}`];
const addressedAs = (text: string) => [text, `bascule:a/${text}`, `bascule:b/${text}`, `bascule:a/bascule:a/${text}`];

/** Everything that a hostile backend may list to be taken for the victim, or to have the victim's things renamed. */
const catalogAgainst = (name: string, address: string): fc.Arbitrary<Catalog> =>
  fc.record({
    tools: fc.uniqueArray(fc.constantFrom(...looksLike(name), 'free'), { maxLength: 4 }),
    prompts: fc.uniqueArray(fc.constantFrom(...looksLike(name), 'free'), { maxLength: 4 }),
    uris: fc.uniqueArray(fc.constantFrom(...addressedAs(address), 'doc:free'), { maxLength: 3 }),
    templates: fc.uniqueArray(fc.constantFrom('{+all}', `${address}{rest}`, 'file:///{+path}', 'bascule:a/{+x}'), {
      maxLength: 2,
    }),
  });

/** The name, the URI, and how the author of the rule wrote them. */
const attack = fc.record({ name: word, address: uri }).chain(({ name, address }) =>
  fc.record({
    name: fc.constant(name),
    address: fc.constant(address),
    nameRule: fc.constantFrom(name, `a__${name}`, encode({ backend: 'a', name }), `*${name.slice(-4)}`),
    uriRule: fc.constantFrom(address, `bascule:a/${address}`, `${address.slice(0, 8)}**`),
    withBackend: fc.boolean(),
    respellings: fc.subarray([...respelled(address)], { minLength: 5, maxLength: 7 }),
    catalogs: fc.tuple(catalogAgainst(name, address), catalogAgainst(name, address)),
  }),
);

type Attack = typeof attack extends fc.Arbitrary<infer T> ? T : never;

const encoded = (text: string, times: number): string => {
  let last = `%${text.charCodeAt(text.length - 1).toString(16)}`;
  for (let level = 1; level < times; level++) last = last.replaceAll('%', '%25');
  return `${text.slice(0, -1)}${last}`;
};

function respelled(text: string): readonly string[] {
  const scheme = text.slice(0, text.indexOf(':'));
  const rest = text.slice(scheme.length);
  return [
    ...[text, `${scheme.toUpperCase()}${rest}`, `${text}?`, `${text}#`, `${text}/`, `${text};v=1`, `${text} `],
    ...[encoded(text, 1), encoded(text, 2), encoded(text, 3), `${text.slice(0, -1)}\t${text.slice(-1)}`],
    ...[text.replace('///', '/'), text.replace('///', '//localhost/'), text.replace('//host', '//user@host:80')],
    ...[text.replace('///', '///x/../'), text.replace('//host', ''), text.replaceAll('/', '\\')],
  ];
}

/** The same for all spellings of an address, by nothing that the gateway uses. */
function essence(text: string): string {
  let bare = text
    .replaceAll(/[\t\r\n]/g, '')
    .trim()
    .replaceAll('\\', '/');
  for (let level = 0; level < 4; level++) bare = bare.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) => unhex(hex));
  bare = bare
    .toLowerCase()
    .replace(/[?#;].*$/s, '')
    .replace('user@', '')
    .replace(':80', '')
    .replace('//localhost', '');
  return bare
    .split(/[:/]+/)
    .filter((part) => part !== '' && part !== 'x..')
    .join('/')
    .replace('x/../', '');
}

const unhex = (hex: string) => String.fromCharCode(Number.parseInt(hex, 16));

it('no denying rule is bypassed by another spelling of what it denies', {
  ...verifies('gateway:policy:names', 'gateway:policy:readings'),
  timeout: 240_000,
}, async () => {
  let passed = 0;
  const property = fc.asyncProperty(attack, async (given) => {
    passed += await attempt(given);
  });
  await fc.assert(property, { seed, numRuns: RUNS, endOnFailure: true });
  // What no rule speaks of went through.
  expect(passed).toBeGreaterThan(0);
});

/** How many calls reached the victim that no rule denies. */
async function attempt(given: Attack): Promise<number> {
  const { name, address, nameRule, uriRule, withBackend, respellings, catalogs } = given;
  const own = { tools: [name, 'free'], prompts: [name, 'free'], uris: [address, 'doc:own'], templates: [] };
  const running = await Promise.all([own, ...catalogs].map((catalog) => modernBackend(scriptOf(catalog))));
  const victim = running[0]!;
  const plan = {
    backends: Object.fromEntries(backends.map((backend, at) => [backend, { url: running[at]?.url }])),
    endpoints: [
      ...namings.map((naming) => ({ path: `/${naming}`, names: naming })),
      { path: '/alone', backends: ['a'] },
    ],
  };
  const gateway = await launchGateway(plan);
  const ask = (path: string, method: string, params: object): Promise<Json> =>
    send(`${gateway.origin}${path}`, modern({ method, params: { ...params } })).then((answer) => answer.json());
  const listed = async (path: string, list: string): Promise<readonly string[]> => {
    const { result } = await ask(path, `${list}/list`, {});
    return result[list].map((entry: Json) => entry.uri ?? entry.name);
  };
  const everything = await Promise.all(
    paths.map(async (path) => ({
      path,
      names: [...(await listed(path, 'tools')), ...(await listed(path, 'prompts'))],
      uris: await listed(path, 'resources'),
    })),
  );
  const on = { tools: [nameRule], prompts: [nameRule], uris: [uriRule], ...(withBackend && { backends: ['a'] }) };
  const rules = [
    { id: 'all', effect: 'allow' },
    { id: 'no', effect: 'deny', on },
  ];
  gateway.reload({ ...plan, policy: { rules } });
  victim.forget();
  const addresses = respellings.flatMap((one) => [one, `bascule:a/${one}`, `BASCULE:a/${one}`]);
  for (const { path, names, uris } of everything) {
    const calls = [...new Set([...looksLike(name), ...names])].flatMap((one) => [
      ask(path, 'tools/call', { name: one, arguments: {} }),
      ask(path, 'prompts/get', { name: one }),
    ]);
    const reads = [...new Set([...uris, ...addresses])].map((one) => ask(path, 'resources/read', { uri: one }));
    await Promise.all([...calls, ...reads]);
    expect((await listed(path, 'resources')).filter((one) => one === `bascule:a/${address}`)).toEqual([]);
    // Under `never` such a name may be another backend's own.
    const isVictims = path === '/alone' ? [name] : path === '/never' ? [] : [encode({ backend: 'a', name })];
    const shown = [...(await listed(path, 'tools')), ...(await listed(path, 'prompts'))];
    expect([path, shown.filter((one) => isVictims.includes(one))]).toEqual([path, []]);
  }
  const called = [...victim.of('tools/call'), ...victim.of('prompts/get')].map((one) => one.message.params.name);
  expect(called.filter((one) => one === name)).toEqual([]);
  const reached = victim.of('resources/read').map((one) => one.message.params.uri as string);
  expect(reached.filter((one) => essence(one) === essence(address))).toEqual([]);
  await gateway.close();
  return called.filter((one) => one === 'free').length;
}
