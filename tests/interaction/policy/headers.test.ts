/**
 * Headers that mirror the body are held against it before any rule is asked, and rules go by the body alone.
 * `Mcp-Param-*` come after the rules: which parameters a tool has is nothing for those who may not call it.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-behavior
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import type { Script } from '../harness/http-backend.ts';
import { call, type House, named, openHouse, paths, type Where } from './setup.ts';

const script: Script = {
  'tools/list': (turn) =>
    turn.result({
      resultType: 'complete',
      tools: ['read_file', 'delete_file'].map((name) => ({
        name,
        inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
      })),
      ttlMs: 60_000,
      cacheScope: 'public',
    }),
};
const noDeletes = {
  policy: {
    rules: [
      { id: 'all', effect: 'allow', what: ['call', 'get', 'read'] },
      { id: 'no-deletes', effect: 'deny', what: ['call'], on: { tools: ['*delete*'] } },
    ],
  },
};
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;
const urlOf = ({ gateway }: House, where: Where) => `${gateway.origin}${paths[where]}`;

describe.each(['merged', 'single'] as const)('%s', (where) => {
  const own = (name: string) => named(where, name);
  const things: readonly { readonly name: string; readonly message: Json; readonly wrong: readonly object[] }[] = [
    {
      name: 'a tool',
      message: call(own('delete_file')),
      wrong: [
        { 'mcp-name': own('read_file') },
        { 'mcp-name': base64(own('read_file')) },
        { 'mcp-name': '=?base64?!!!?=' },
        { 'mcp-name': undefined },
      ],
    },
    {
      name: 'a prompt',
      message: { method: 'prompts/get', params: { name: own('secret') } },
      wrong: [{ 'mcp-name': own('public') }, { 'mcp-name': base64(own('public')) }, { 'mcp-name': undefined }],
    },
    {
      name: 'a resource',
      message: { method: 'resources/read', params: { uri: 'file:///secret' } },
      wrong: [{ 'mcp-name': 'file:///public' }, { 'mcp-name': base64('file:///public') }, { 'mcp-name': undefined }],
    },
  ];
  it.each(things)(
    'of $name: every header that disagrees is -32020, and no rule is evaluated',
    verifies('gateway:policy:no-permit-no-byte'),
    async ({ message, wrong }) => {
      const house = await openHouse({ more: noDeletes });
      const always = [
        { 'mcp-method': 'tools/list' },
        { 'mcp-method': undefined },
        { 'mcp-protocol-version': '2025-11-25' },
        { 'mcp-protocol-version': undefined },
      ];
      for (const change of [...wrong, ...always]) {
        const { headers, body } = modern(message as Parameters<typeof modern>[0]);
        const changed = Object.fromEntries(
          Object.entries({ ...headers, ...change }).filter(([, value]) => value !== undefined),
        );
        const answer = await send(urlOf(house, where), { headers: changed, body });
        expect([change, answer.status, answer.json().error.code]).toEqual([change, 400, -32020]);
      }
      expect(house.records).toEqual([]);
      expect(house.bytes).toBe(0);
    },
  );

  it(
    'a header in Base64 that agrees means the same as the body, and the rule decides',
    verifies('gateway:policy:denied-request'),
    async () => {
      const house = await openHouse({ more: noDeletes });
      const ask = async (name: string) => {
        const headers = { 'mcp-name': base64(own(name)) };
        return (await send(urlOf(house, where), modern({ ...call(own(name)), headers }))).json();
      };
      expect((await ask('read_file')).result).toBeDefined();
      expect((await ask('delete_file')).error).toMatchObject({ code: 403, data: { rules: ['no-deletes'] } });
    },
  );

  const params = [
    { name: 'another value', args: { region: 'eu' }, headers: { 'mcp-param-region': 'us' } },
    { name: 'another value in Base64', args: { region: 'eu' }, headers: { 'mcp-param-region': base64('us') } },
    { name: 'no Base64', args: { region: 'eu' }, headers: { 'mcp-param-region': '=?base64?!!!?=' } },
    { name: 'no header', args: { region: 'eu' }, headers: {} },
    { name: 'no argument', args: {}, headers: { 'mcp-param-region': 'us' } },
  ];
  it.each(params)(
    'Mcp-Param-* with $name: a permitted caller gets the mismatch, a denied one only the denial',
    verifies('gateway:policy:denied-request', 'gateway:policy:hide'),
    async ({ args, headers }) => {
      for (const denials of ['error', 'hide']) {
        const house = await openHouse({ script, endpoint: { denials }, more: noDeletes });
        const ask = (name: string) => send(urlOf(house, where), modern({ ...call(own(name), args), headers }));
        const allowed = await ask('read_file');
        expect([allowed.status, allowed.json().error.code]).toEqual([400, -32020]);
        const denied = (await ask('delete_file')).json().error;
        if (denials === 'hide') {
          const other = (await ask('no_such_tool_delete')).json().error;
          expect({ ...denied, message: '', data: '' }).toEqual({ ...other, message: '', data: '' });
          expect(denied.message).toBe(`Unknown tool: ${own('delete_file')}`);
        } else expect(denied).toMatchObject({ code: 403, data: { reason: 'policy_denied', rules: ['no-deletes'] } });
        expect([...house.a.of('tools/call'), ...house.b.of('tools/call')]).toEqual([]);
      }
    },
  );
});
