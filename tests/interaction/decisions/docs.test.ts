/** The recipes of docs/policy-decisions.md do what they say. Addresses that are made up there are real ones here. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { bearer, tokenIssuer } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { json } from '../json-rpc/setup.ts';
import { call, openHouse, paths } from '../policy/setup.ts';
import { recipe } from './recipes.ts';
import { asked, deciding, decisionPoint } from './setup.ts';

const withAddress = (value: Json, from: string, to: string): Json =>
  JSON.parse(JSON.stringify(value).replaceAll(from, to));

it('with OPA', verifies('gateway:policy:decision-points', 'gateway:policy:decision-lists'), async () => {
  const { config } = recipe('With OPA');
  // What the Rego of the recipe decides: `npm run test:opa` asks OPA itself.
  const point = await decisionPoint((visit) => {
    const { name, names } = asked(visit).input;
    json(visit.response, { result: names?.filter((one: string) => one === 'read_file') ?? name === 'read_file' });
  });
  const { origin } = new URL(point.url);
  const house = await openHouse({ more: withAddress(config, 'http://127.0.0.1:8181', origin) });
  const url = `${house.gateway.origin}${paths.single}`;
  expect((await send(url, modern(call('read_file')))).json().result.content[0].text).toBe('read_file');
  expect((await send(url, modern(call('list_files')))).json().error.data.decisionPoint).toBe('opa');
  expect((await send(url, modern({ method: 'tools/list' }))).json().result.tools).toHaveLength(1);
});

it('with an AuthZEN service', verifies('gateway:policy:decision-points'), async () => {
  const { config, json: example = '' } = recipe('With an AuthZEN service');
  const issuer = await tokenIssuer();
  const point = await decisionPoint(deciding('authzen', (name) => name === 'read_file'));
  const audience = 'https://house.example';
  const policy = withAddress(withAddress(config, 'https://pdp.example', point.url), '${PDP_TOKEN}', 'secret').policy;
  const identity = { issuers: [{ issuer: issuer.url }], audiences: [audience] };
  const house = await openHouse({ more: { policy, identity } });
  const request = modern(call('read_file'));
  const token = await issuer.token(audience, { sub: 'ann', client_id: 'the-client-id' });
  const headers = { ...request.headers, ...bearer(token) };
  const url = `${house.gateway.origin}${paths.single}`;
  expect((await send(url, { ...request, headers })).json().result.content[0].text).toBe('read_file');
  const [visit] = point.visits;
  expect(visit?.headers.authorization).toBe('Bearer secret');
  const documented = withAddress(JSON.parse(example), 'https://login.example', issuer.url);
  documented.resource.properties.backend = 'a';
  documented.context.endpoint = paths.single;
  expect(visit && asked(visit)).toEqual(documented);
});

it('from ToolHive: policies', verifies('gateway:policy:cedar'), async () => {
  const { config, second = '' } = recipe('From ToolHive');
  const folder = mkdtempSync(join(tmpdir(), 'bascule-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'authz.yaml'), second);
  const issuer = await tokenIssuer();
  const audience = 'https://house.example';
  const identity = { issuers: [{ issuer: issuer.url }], audiences: [audience] };
  const house = await openHouse({
    more: { ...withAddress(config, 'authz.yaml', join(folder, 'authz.yaml')), identity },
  });
  const ask = async (name: string, args: object) => {
    const request = modern(call(name, args));
    const headers = { ...request.headers, ...bearer(await issuer.token(audience)) };
    return (await send(`${house.gateway.origin}${paths.single}`, { ...request, headers })).json();
  };
  expect((await ask('read_file', { path: '/srv/x' })).result.content[0].text).toBe('read_file');
  expect((await ask('read_file', { path: '/etc/passwd' })).error.data.reason).toBe('policy_denied');
  expect((await ask('list_files', {})).error.data.reason).toBe('policy_denied');
});

it('from ToolHive: webhooks', verifies('gateway:policy:decision-points'), async () => {
  const point = await decisionPoint(deciding('webhook', (name) => name === 'read_file'));
  const given = JSON.parse(recipe('From ToolHive').json ?? '{}');
  const decision = { ...given, webhook: point.url, secret: 'a-secret-of-the-receiver' };
  const house = await openHouse({ more: { policy: { decisions: [decision] } } });
  const url = `${house.gateway.origin}${paths.single}`;
  expect((await send(url, modern(call('read_file')))).json().result.content[0].text).toBe('read_file');
  expect((await send(url, modern(call('list_files')))).json().error.data.decisionPoint).toBe('guard');
});
