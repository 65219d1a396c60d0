/** Skills of scripted backends: invalid ones, other schemes, settings that differ, and rules. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter, namesOf, openMarket } from '../catalog/setup.ts';
import { openShop, type Shop } from '../catalog/shop.ts';
import type { Json } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Turn } from '../harness/http-backend.ts';

const id = 'io.modelcontextprotocol/skills';
const digest = `sha256:${'0'.repeat(64)}`;

interface Skill {
  readonly uri: string;
  readonly frontmatter: Json;
  readonly resources: Json;
}

function skill(name: string, root = 'skill://'): Skill {
  const uri = `${root}${name}/SKILL.md`;
  const resources = [uri, `${root}${name}/more.md`].map((file) => ({ uri: file, digest, size: 1 }));
  return { uri, frontmatter: { name, description: 'x', number: 1e21 }, resources };
}

const good = skill('good');
const invalid: readonly unknown[] = [
  7,
  { ...good, uri: 'skill://bad' },
  { ...skill('b1'), frontmatter: { name: 'other', description: 'x' } },
  { ...skill('b2'), frontmatter: { name: 'b2' } },
  { ...skill('b3'), frontmatter: JSON.parse('{"name":"b3","description":"x","__proto__":{}}') },
  { ...skill('b4'), resources: [{ uri: skill('b4').uri, digest: 'sha256:0', size: 1 }] },
  { ...skill('b5'), resources: [] },
  { ...skill('b6'), resources: [...skill('b6').resources, { uri: 'skill://good/SKILL.md', digest, size: 1 }] },
  { ...skill('b7'), resources: [...skill('b7').resources, ...skill('b7').resources] },
  { ...skill('b8'), resources: 'some' },
  { ...skill('b9'), resources: [{ uri: skill('b9').uri, digest, size: 17 * 1024 * 1024 }] },
  { frontmatter: good.frontmatter, resources: [] },
];

async function library(name: string, skills: readonly unknown[], settings: object = {}): Promise<Shop> {
  const complete = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' };
  const find = ({ message }: Turn) => skills.find((one) => (one as Skill).uri === message.params.uri);
  return openShop('modern', name, {
    capabilities: { resources: {}, extensions: { [id]: settings } },
    script: {
      'skills/list': (turn) => turn.result({ ...complete, skills }),
      'skills/get': (turn) => {
        const found = find(turn);
        if (found === undefined) turn.error(-32602, 'Unknown skill', undefined, 400);
        else turn.result({ ...complete, skill: found });
      },
      'resources/directory/read': (turn) => {
        const { uri } = turn.message.params;
        turn.result({
          ...complete,
          resources: [`${uri}/SKILL.md`, `${uri}/more.md`].map((one) => ({ uri: one, name: one })),
        });
      },
      'resources/read': (turn) =>
        turn.result({
          ...complete,
          contents: [{ uri: turn.message.params.uri, text: `${name} skill://good/SKILL.md` }],
        }),
    },
  });
}

describe.each(eras)('for a %s client', (era) => {
  it.each([undefined, 'a'])(
    'invalid and repeated skills are left out, and all others are served (endpoint of %s)',
    verifies('gateway:extensions:skills-invalid'),
    async (backend) => {
      const shops = [await library('a', [...invalid, good, good, skill('last')]), await library('b', [skill('third')])];
      const gateway = await openMarket(shops);
      const client = await enter(era, gateway.url(backend));
      const { result } = await client.ask('skills/list');
      const prefix = backend === undefined ? 'a/' : '';
      const served = [`skill://${prefix}good/SKILL.md`, `skill://${prefix}last/SKILL.md`];
      expect(namesOf(result.skills)).toEqual(backend === undefined ? [...served, 'skill://b/third/SKILL.md'] : served);
      const told = gateway.log.filter(({ text }) => text.includes('skill was left out'));
      expect(told.length).toBeGreaterThanOrEqual(invalid.length);
    },
  );

  it(
    'all URIs of a skill name its backend, whatever their scheme, and lead back to it',
    verifies('gateway:extensions:skills'),
    async () => {
      const shops = [
        await library('a', [good, skill('far', 'repo://x/y/'), skill('deep', 'file:///z/')], { directoryRead: true }),
        await library('b', [good], { directoryRead: true }),
      ];
      const client = await enter(era, (await openMarket(shops)).url());
      const { result } = await client.ask('skills/list');
      const roots = ['skill://a/good', 'skill://a/~repo/x/y/far', 'skill://a/~file~/z/deep', 'skill://b/good'];
      expect(namesOf(result.skills)).toEqual(roots.map((root) => `${root}/SKILL.md`));
      for (const [at, root] of roots.entries()) {
        const uris = [`${root}/SKILL.md`, `${root}/more.md`];
        const { skill: got } = (await client.ask('skills/get', { uri: uris[0] })).result;
        expect(got).toEqual(result.skills[at]);
        expect(namesOf(got.resources)).toEqual(uris);
        const read = await client.ask('resources/read', { uri: uris[1] });
        expect(read.result.contents).toEqual([{ uri: uris[1], text: `${root[8]} skill://good/SKILL.md` }]);
        const children = await client.ask('resources/directory/read', { uri: root });
        expect(namesOf(children.result.resources)).toEqual(uris);
      }
      expect((await client.ask('skills/get', { uri: 'skill://a/none/SKILL.md' })).error.code).toBe(-32602);
    },
  );

  it.each([
    { settings: [{ directoryRead: true }, { directoryRead: true }], expected: { directoryRead: true } },
    { settings: [{ directoryRead: true }, {}], expected: {} },
    { settings: [{ directoryRead: true }, { directoryRead: false }], expected: {} },
  ])(
    'directories can be read where every backend has them: $settings',
    verifies('gateway:extensions:skills'),
    async ({ settings: [first, second], expected }) => {
      const shops = [await library('a', [good], first), await library('b', [good], second)];
      const { greeting } = await enter(era, (await openMarket(shops)).url());
      expect(greeting.capabilities.extensions).toEqual({ [id]: expected });
    },
  );

  it(
    'the methods of an extension that is denied, or that no backend has, reach no backend',
    verifies('gateway:extensions:carried'),
    async () => {
      const shop = await library('a', [good]);
      const plain = await openShop('modern', 'b', {});
      const backends = { a: { url: shop.backend.url }, b: { url: plain.backend.url } };
      const gateway = await startGateway({
        backends,
        endpoints: [
          { path: '/denied', extensions: { [id]: 'deny' } },
          { path: '/b', backends: ['b'] },
        ],
      });
      for (const path of ['/denied', '/b']) {
        const client = await enter(era, `${gateway.origin}${path}`);
        expect(client.greeting.capabilities.extensions).toBeUndefined();
        for (const method of ['skills/list', 'skills/get', 'resources/directory/read'])
          expect((await client.ask(method, { uri: good.uri })).error.code).toBe(-32601);
      }
      expect(['skills/list', 'skills/get'].map((method) => shop.count(method) + plain.count(method))).toEqual([0, 0]);
    },
  );

  it.each([undefined, 'a'])(
    'a skill is shown to clients that may read all of it (endpoint of %s)',
    verifies('gateway:extensions:skills-policy'),
    async (backend) => {
      const shops = [
        await library('a', [good, skill('partly'), skill('secret')], { directoryRead: true }),
        await library('b', [], { directoryRead: true }),
      ];
      const gateway = await startGateway({
        backends: Object.fromEntries(shops.map((shop) => [shop.name, { url: shop.backend.url }])),
        policy: {
          rules: [
            { id: 'all', effect: 'allow', on: { uris: ['*'] } },
            { id: 'no', effect: 'deny', on: { uris: ['skill://secret/**', 'skill://partly/more.md'] } },
          ],
        },
      });
      const client = await enter(era, gateway.url(backend));
      const at = (path: string) => `skill://${backend === undefined ? 'a/' : ''}${path}`;
      expect(namesOf((await client.ask('skills/list')).result.skills)).toEqual([at('good/SKILL.md')]);
      for (const name of ['partly', 'secret'])
        expect(await client.ask('skills/get', { uri: at(`${name}/SKILL.md`) })).toHaveProperty('error');
      expect(await client.ask('skills/get', { uri: at('good/SKILL.md') })).toHaveProperty('result');
      expect(shops[0]!.backend.of('skills/get').map(({ message }) => message.params.uri)).toEqual([
        'skill://partly/SKILL.md',
        'skill://good/SKILL.md',
      ]);
      const { result } = await client.ask('resources/directory/read', { uri: at('partly') });
      expect(namesOf(result.resources)).toEqual([at('partly/SKILL.md')]);
      expect(await client.ask('resources/directory/read', { uri: at('secret/x') })).toHaveProperty('error');
    },
  );
});
