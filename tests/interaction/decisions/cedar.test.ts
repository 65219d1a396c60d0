/** Cedar policies behind a running gateway: calls, lists, completions and reloads. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { bearer, tokenIssuer } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { call, named, openHouse, paths, tools, ways } from '../policy/setup.ts';

function cedarFile(text: string, name = 'p.cedar'): string {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-cedar-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

const namesOf = ({ result }: Json) => result.tools.map(({ name }: { name: string }) => name);
const readers = '@id("reads") permit(principal, action, resource) unless { resource.name like "*delete*" };';
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };

describe.each(['legacy', 'modern'] as const)('with %s backends', (era) => {
  it.each(ways)(
    'over $name calls and lists are what Cedar permits',
    verifies('gateway:policy:cedar', 'gateway:policy:no-permit-no-byte'),
    async (way) => {
      const house = await openHouse({ era, more: { policy: { cedar: { policies: [cedarFile(readers)] } } } });
      const client = await way.enter(house);
      const prefixes = way.where === 'merged' ? ['a__', 'b__'] : [''];
      const shown = prefixes.flatMap((prefix) => [`${prefix}read_file`, `${prefix}list_files`]);
      expect(namesOf(await client.ask(list))).toEqual(shown);
      const allowed = await client.ask(call(named(way.where, 'read_file')));
      expect(allowed.result.content[0].text).toBe('read_file');
      expect(house.records.at(-1)).toMatchObject({ decision: 'allow', rules: ['cedar:reads'] });
      const { error } = await client.ask(call(named(way.where, 'delete_file')));
      expect(error).toMatchObject({ code: 403, data: { reason: 'policy_denied', rules: ['cedar'] } });
      expect(house.a.of('tools/call')).toHaveLength(1);
    },
  );
});

it.each(['merged', 'single'] as const)(
  'two persons with the same rules each see their own list: %s',
  verifies('gateway:policy:cedar', 'gateway:identity:no-sharing'),
  async (where) => {
    const issuer = await tokenIssuer();
    const chiefs = 'permit(principal in THVGroup::"chiefs", action, resource);';
    const staff = 'permit(principal, action, resource) when { resource.name like "*read_file" };';
    const cedar = { policies: [cedarFile(`${chiefs}\n${staff}`)] };
    const identity = { issuers: [{ issuer: issuer.url }], audiences: ['https://house.example'] };
    const house = await openHouse({ more: { policy: { cedar }, identity } });
    const see = async (claims: object) => {
      const request = modern(list);
      const headers = { ...request.headers, ...bearer(await issuer.token('https://house.example', { ...claims })) };
      return namesOf((await send(`${house.gateway.origin}${paths[where]}`, { ...request, headers })).json());
    };
    const prefixes = where === 'merged' ? ['a__', 'b__'] : [''];
    const all = prefixes.flatMap((prefix) => tools.map((tool) => `${prefix}${tool}`));
    expect(await see({ sub: 'ann', groups: ['chiefs'] })).toEqual(all);
    expect(await see({ sub: 'ben' })).toEqual(prefixes.map((prefix) => `${prefix}read_file`));
    expect(await see({ sub: 'ann', groups: ['chiefs'] })).toEqual(all);
  },
);

it(
  'a reload brings the new policies into force',
  verifies('gateway:policy:cedar', 'gateway:reload:policy'),
  async () => {
    const policy = (text: string) => ({ policy: { cedar: { policies: [cedarFile(text)] } } });
    const house = await openHouse({ more: policy(readers) });
    const url = `${house.gateway.origin}${paths.single}`;
    expect(namesOf((await send(url, modern(list))).json())).toEqual(['read_file', 'list_files']);
    house.reload(policy('permit(principal, action, resource == Tool::"delete_file");'));
    expect(namesOf((await send(url, modern(list))).json())).toEqual(['delete_file']);
    // A broken file changes nothing.
    house.reload(policy('permit('));
    expect((await send(url, modern(call('delete_file')))).json().result.content[0].text).toBe('delete_file');
    expect((await send(url, modern(call('read_file')))).json().error.code).toBe(403);
  },
);

it(
  'completions of a prompt and subscriptions of a resource need what Cedar permits of it',
  verifies('gateway:policy:cedar'),
  async () => {
    const text = `
      permit(principal, action == Action::"get_prompt", resource == Prompt::"hello");
      permit(principal, action == Action::"read_resource", resource == Resource::"doc://open");`;
    const house = await openHouse({ more: { policy: { cedar: { policies: [cedarFile(text)] } } } });
    const url = `${house.gateway.origin}${paths.single}`;
    const complete = async (name: string) => {
      const params = { ref: { type: 'ref/prompt', name }, argument: { name: 'x', value: '' } };
      return (await send(url, modern({ method: 'completion/complete', params }))).json();
    };
    expect((await complete('secret')).error.code).toBe(403);
    expect((await complete('hello')).error?.code).not.toBe(403);
    const notifications = { resourceSubscriptions: ['doc://secret'] };
    const denied = await send(url, modern({ method: 'subscriptions/listen', params: { notifications } }));
    expect(denied.json().error.code).toBe(403);
  },
);
