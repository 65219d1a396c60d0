/**
 * Through the proxy, in absolute form and in a tunnel, what an endpoint refuses for its form is refused with the same
 * reason: in both modes, and without a byte to the backend.
 * https://github.com/NVIDIA/OpenShell/pull/2083
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { ambiguousCalls, toolCall } from '../harness/ambiguous.ts';
import { batchRefused, refusal } from '../harness/behind.ts';
import type { Call, Json } from '../harness/client.ts';
import { initialize, modern, modernHeaders } from '../harness/eras.ts';
import { openProxy, type ProxyHouse, type ProxyWay, trustBackends, ways } from './setup.ts';

trustBackends();

const modes = ['enforce', 'audit'] as const;
const rules = [
  { id: 'all', effect: 'allow', what: ['call', 'list', 'connect'] },
  { id: 'no-deletes', effect: 'deny', what: ['call'], on: { tools: ['delete'] } },
];
const read = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'work', arguments: {} } };
const notification = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
const response = { jsonrpc: '2.0', id: 7, result: {} };
const arrays: readonly Json[][] = [
  [],
  [read],
  [notification],
  [response],
  [read, notification, response],
  [initialize()],
];
const asModern = { 'mcp-protocol-version': '2026-07-28' };

interface Refused {
  readonly name: string;
  readonly call: Call;
  readonly status: number;
  readonly reason: string;
}

const refusedForms: readonly Refused[] = [
  ...ambiguousCalls.map(({ name, word: _word, ...places }) => ({
    name: `the name ${name}`,
    call: { body: toolCall(places), headers: modernHeaders('tools/call', 'work') },
    ...{ status: 400, reason: 'ambiguous_json' },
  })),
  {
    name: 'a repeated key',
    call: { ...modern(read), body: '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}' },
    ...{ status: 400, reason: 'ambiguous_json' },
  },
  { name: 'no JSON', call: { ...modern(read), body: '{"jsonrpc":' }, status: 400, reason: 'parse_error' },
  {
    name: 'a header that differs from the body',
    call: { ...modern(read), headers: modernHeaders('tools/call', 'other') },
    ...{ status: 400, reason: 'header_mismatch' },
  },
  {
    name: 'an unknown revision',
    call: modern({
      ...read,
      meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' },
      headers: { 'mcp-protocol-version': '2099-01-01' },
    }),
    ...{ status: 400, reason: 'unsupported_version' },
  },
  {
    name: 'a compressed body',
    call: { ...modern(read), headers: { ...modern(read).headers, 'content-encoding': 'gzip' } },
    ...{ status: 415, reason: 'unsupported_media_type' },
  },
];

/** Opens what is opened once, so that later only the test sends something. */
async function warm(house: ProxyHouse, { send }: ProxyWay): Promise<void> {
  expect((await send(house, modern(read))).json().result.content).toEqual([{ type: 'text', text: 'work' }]);
  house.forget();
}

describe.each(modes)('in mode %s', (mode) => {
  describe.each(ways)('by $name', (way) => {
    const plan = { more: { policy: { mode, rules } } };

    it(
      'a batch is refused whatever it contains, unread, and is in the audit trail',
      verifies('gateway:proxy:same-rules', 'gateway:policy:no-permit-no-byte', 'gateway:legacy:batch-refused'),
      async () => {
        const house = await openProxy(plan);
        await warm(house, way);
        for (const body of arrays) {
          house.forget();
          const answer = await way.send(house, { body, headers: asModern });
          expect(answer.json()).toEqual(refusal(batchRefused));
          expect(house.bytes).toBe(0);
          expect(house.records).toMatchObject([
            { decision: 'deny', reason: 'unsupported_mcp_batch', endpoint: `/servers/${way.to}/mcp`, rules: [] },
          ]);
        }
        expect((await way.send(house, modern(read))).json().result).toBeDefined();
      },
    );

    it(
      'wrong versions, ambiguous JSON and other wrong forms are refused with their reasons',
      verifies('gateway:proxy:same-rules', 'gateway:policy:no-permit-no-byte', 'gateway:json:case-twins'),
      async () => {
        const house = await openProxy(plan);
        await warm(house, way);
        for (const { name, call, status, reason } of refusedForms) {
          const answer = await way.send(house, call);
          const { error } = answer.json();
          expect({ name, status: answer.status, reason: error?.data.reason }).toEqual({ name, status, reason });
          expect({ name, bytes: house.bytes }).toEqual({ name, bytes: 0 });
        }
      },
    );

    it(
      'a revision that the profile does not have is refused',
      verifies('gateway:proxy:same-rules', 'gateway:policy:strict-profile'),
      async () => {
        const profile = { revisions: ['2025-11-25'] };
        const endpoints = ['plain', 'tls'].map((name) => ({ path: `/servers/${name}/mcp`, backends: [name], profile }));
        const house = await openProxy({ more: { ...plan.more, endpoints } });
        house.forget();
        const { error } = (await way.send(house, modern(read))).json();
        expect(error).toMatchObject({ code: -32022, data: { supported: ['2025-11-25'], requested: '2026-07-28' } });
        expect(house.records).toMatchObject([{ decision: 'deny', reason: 'unsupported_version' }]);
        expect(house[way.to].of('tools/call')).toEqual([]);
      },
    );

    it(
      mode === 'enforce' ? 'a denied call is refused by its rule' : 'a denied call passes, and is recorded as such',
      verifies('gateway:proxy:same-rules', 'gateway:policy:audit'),
      async () => {
        const house = await openProxy(plan);
        await warm(house, way);
        const answer = (await way.send(house, modern({ ...read, params: { name: 'delete' } }))).json();
        if (mode === 'enforce') {
          expect(answer.error).toMatchObject({ code: 403, data: { reason: 'policy_denied', rules: ['no-deletes'] } });
          expect(house.bytes).toBe(0);
        } else {
          expect(answer.result.content).toEqual([{ type: 'text', text: 'delete' }]);
          expect(house.records).toMatchObject([{ decision: 'allow', wouldDeny: ['no-deletes'] }]);
        }
      },
    );
  });
});
