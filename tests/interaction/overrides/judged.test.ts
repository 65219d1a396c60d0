/** Who judges a call, and by what: headers, rules, scopes, the audit trail, approvals, Cedar, pins. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { asking, Office } from '../approvals/setup.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import type { ConfigValue } from '../harness/gateway.ts';
import { fileIn, pinned } from '../pins/setup.ts';
import { call, named, paths, type Where } from '../policy/setup.ts';
import { find, list, openOverridden, other, purge } from './setup.ts';

const wheres = ['merged', 'single'] as const;
const routed: Json = {
  name: 'find',
  inputSchema: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      limit: { type: 'integer', 'x-mcp-header': 'Limit' },
      text: { type: 'string', 'x-mcp-header': 'Text' },
    },
  },
};

describe.each(wheres)('mirrored headers: %s', verifies('gateway:overrides:headers'), (where) => {
  const urlOf = (origin: string) => `${origin}${paths[where]}`;
  const sent = ({ headers }: Json) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => /^mcp-(name|param-)/.test(name)));

  it('agree with what each side gets', async () => {
    const house = await openOverridden({ tools: [routed] });
    const request = modern(call(named(where, 'lookup'), { text: 'a' }));
    const answer = await send(urlOf(house.gateway.origin), {
      ...request,
      headers: { ...request.headers, 'mcp-param-text': 'a' },
    });
    expect(answer.json().result.content[0].text).toBe('find');
    const [received] = house.a.of('tools/call');
    expect(sent(received)).toEqual({
      'mcp-name': 'find',
      'mcp-param-region': 'eu',
      'mcp-param-limit': '10',
      'mcp-param-text': 'a',
    });
  });

  it('are refused where the client names a fixed argument in a header alone', async () => {
    const house = await openOverridden({ tools: [routed] });
    const request = modern(call(named(where, 'lookup'), {}));
    for (const headers of [{ 'mcp-param-region': 'us' }, { 'mcp-param-region': 'eu' }, { 'mcp-param-limit': '10' }]) {
      const answer = await send(urlOf(house.gateway.origin), {
        ...request,
        headers: { ...request.headers, ...headers },
      });
      expect([answer.status, answer.json().error.code]).toEqual([400, -32020]);
    }
    const misnamed = await send(urlOf(house.gateway.origin), {
      ...request,
      headers: { ...request.headers, 'mcp-name': named(where, 'find') },
    });
    expect(misnamed.json().error.code).toBe(-32020);
    expect(house.a.of('tools/call')).toEqual([]);
  });

  it('are made for a legacy client', async () => {
    const house = await openOverridden({ tools: [routed] });
    const client = await connectLegacy(urlOf(house.gateway.origin));
    await client.post(call(named(where, 'lookup'), { text: 'a' }));
    expect(sent(house.a.of('tools/call')[0])['mcp-param-region']).toBe('eu');
  });
});

async function ask(house: Awaited<ReturnType<typeof openOverridden>>, where: Where, name: string, args: object) {
  return (await send(`${house.gateway.origin}${paths[where]}`, modern(call(named(where, name), args)))).json();
}

describe.each(wheres)('rules: %s', verifies('gateway:overrides:policy'), (where) => {
  const rule = (more: ConfigValue) => ({ policy: { rules: [{ id: 'one', effect: 'allow', ...more }] } });

  it('see the backend’s name and the final arguments, and so does the trail', async () => {
    const more = {
      ...rule({
        what: ['call'],
        on: { tools: [named(where, 'find')] },
        with: { arguments: { region: { equals: 'eu' } } },
      }),
      audit: { to: 'stderr', arguments: { of: ['*'] } },
    };
    const house = await openOverridden({ more });
    expect((await ask(house, where, 'lookup', { text: 'a' })).result).toBeDefined();
    expect(house.records.at(-1)).toMatchObject({
      decision: 'allow',
      name: named(where, 'find'),
      arguments: { text: 'a', region: 'eu', limit: 10 },
    });
    expect((await ask(house, where, 'other', {})).error.data.reason).toBe('policy_denied');
  });

  it('do not see the name for clients', async () => {
    const house = await openOverridden({ more: rule({ what: ['call'], on: { tools: ['*lookup'] } }) });
    expect((await ask(house, where, 'lookup', { text: 'a' })).error.data.reason).toBe('policy_denied');
    const { result } = (await send(`${house.gateway.origin}${paths[where]}`, modern(list()))).json();
    expect(result.tools).toEqual([]);
  });

  it('decide before the client learns of a fixed argument', async () => {
    const house = await openOverridden({ endpoint: { denials: 'hide' }, more: rule({ what: ['ping'] }) });
    const denied = (await ask(house, where, 'lookup', { region: 'us' })).error;
    expect(denied).toMatchObject({ code: -32602, message: `Unknown tool: ${named(where, 'lookup')}` });
    expect(JSON.stringify(denied)).not.toContain('find');
  });

  it('keep what was refused after them in the trail', async () => {
    const house = await openOverridden();
    expect((await ask(house, where, 'lookup', { region: 'us' })).error.data.reason).toBe('fixed_argument');
    expect(house.records.at(-1)).toMatchObject({ decision: 'allow', outcome: 'error', reason: 'fixed_argument' });
    expect(house.a.of('tools/call')).toEqual([]);
  });

  it('of Cedar show and allow by the backend’s name', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-cedar-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'p.cedar');
    writeFileSync(file, 'permit(principal, action, resource) when { resource.name like "*find" };');
    const house = await openOverridden({ more: { policy: { cedar: { policies: [file] } } } });
    const { result } = (await send(`${house.gateway.origin}${paths[where]}`, modern(list()))).json();
    expect(result.tools.map(({ name }: Json) => name)).toContain(named(where, 'lookup'));
    expect(result.tools.map(({ name }: Json) => name)).not.toContain(named(where, 'other'));
    expect((await ask(house, where, 'lookup', { text: 'a' })).result).toBeDefined();
  });
});

it.each([{ names: 'collision' }, { names: 'never' }])(
  'at an endpoint with $names a renamed tool has its new name, and rules the one that it had',
  verifies('gateway:overrides:names', 'gateway:overrides:policy'),
  async ({ names }) => {
    const more = {
      policy: {
        rules: [
          { id: 'no', effect: 'deny', on: { tools: ['a__find', 'find'] } },
          { id: 'all', effect: 'allow' },
        ],
      },
    };
    const backends = { a: { tools: { find: { name: 'lookup' } } } };
    const free = await openOverridden({ overrides: {}, endpoint: { names }, tools: [find] });
    const at = (house: typeof free, path: string) => `${house.gateway.origin}${path}`;
    const config = (rules: ConfigValue) => ({
      endpoints: [{ path: '/mcp', names, overrides: backends }],
      limits: { listGoodMs: 0, listUnsureMs: 0 },
      ...rules,
    });
    free.reload(config({}));
    const tools = (await send(at(free, '/mcp'), modern(list()))).json().result.tools;
    expect(tools.map(({ name }: Json) => name)).toEqual(['lookup', 'find']);
    const called = await send(at(free, '/mcp'), modern(call('lookup')));
    expect(called.json().result.content[0].text).toBe('find');
    expect(free.a.of('tools/call')).toHaveLength(1);
    await send(at(free, '/mcp'), modern(call('find')));
    expect(free.b.of('tools/call')).toHaveLength(1);
    free.reload(config(more));
    expect((await send(at(free, '/mcp'), modern(call('lookup')))).json().error.data.reason).toBe('policy_denied');
  },
);

it('a person approves the final arguments, and no others', verifies('gateway:overrides:policy'), async () => {
  const given = {
    tools: { delete: { name: 'erase', arguments: { force: { fix: false }, why: { default: 'asked' } } } },
  };
  const properties = { path: {}, force: { type: 'boolean' }, why: { type: 'string' } };
  const office = await Office.open({
    policy: asking({ by: 'other' }),
    script: {
      'tools/list': (turn) =>
        turn.result({
          tools: [{ name: 'delete', inputSchema: { type: 'object', properties } }],
          ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
        }),
    },
    more: { endpoints: [{ path: '/mcp', overrides: { b: given } }] },
  });
  const erase = (args: object) => office.call(args, { name: 'erase' });
  expect((await erase({ path: '/a' })).error.data.reason).toBe('approval_needed');
  const bob = await office.signIn('bob');
  const [question] = await bob.questions();
  expect(JSON.stringify(question)).toContain('force');
  expect(JSON.stringify(question)).toContain('asked');
  await bob.answer(question, 'approve');
  expect((await erase({ path: '/a', why: 'other' })).error.data.reason).toBe('approval_needed');
  expect((await erase({ path: '/a' })).result.content[0].text).toBe('deleted');
  expect(office.backend.of('tools/call').map(({ message }) => message.params.arguments)).toEqual([
    { path: '/a', force: false, why: 'asked' },
  ]);
});

it.each(wheres)('pins compare what the backend lists: %s', verifies('gateway:overrides:pins'), async (where) => {
  const file = fileIn(pinned('tool', [find, purge, other]));
  const house = await openOverridden({ more: { pins: { file }, limits: { listGoodMs: 0, listUnsureMs: 0 } } });
  const names = async () => {
    const { result } = (await send(`${house.gateway.origin}${paths[where]}`, modern(list()))).json();
    return result.tools.map(({ name }: Json) => name);
  };
  expect(await names()).toContain(named(where, 'lookup'));
  expect((await ask(house, where, 'lookup', { text: 'a' })).result).toBeDefined();
  // The config replaces the description for clients; the pin is about the backend's.
  house.offered.tools = [{ ...find, description: 'Sends your keys' }, purge, other];
  expect(await names()).not.toContain(named(where, 'lookup'));
  expect((await ask(house, where, 'lookup', { text: 'a' })).error.data.reason).toBe('pinned_changed');
});
