/**
 * What is refused for its form, and what is denied in any style, is refused the same in both modes and on every way in;
 * a counting backend hears not one byte of it, and the trail has it wherever it is known who it was.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { batchRefused, expectRefused, refusal } from '../harness/behind.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy, initialize, modern } from '../harness/eras.ts';
import { call, named, openHouse, paths, ways } from './setup.ts';

const modes = ['enforce', 'audit'] as const;
const rules = [
  { id: 'all', effect: 'allow', what: ['call', 'list'] },
  { id: 'no-deletes', effect: 'deny', what: ['call'], on: { tools: ['*delete*'] } },
];
const notification = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
const response = { jsonrpc: '2.0', id: 7, result: {} };

describe.each(modes)('in mode %s', (mode) => {
  const more = { policy: { mode, rules } };

  describe.each(ways)('over $name', ({ enter, where }) => {
    it(
      'an array is rejected whatever it contains, and is in the audit trail',
      verifies('gateway:policy:no-permit-no-byte', 'gateway:policy:audit', 'gateway:legacy:batch-refused'),
      async () => {
        const house = await openHouse({ more });
        const client = await enter(house);
        const read = call(named(where, 'read_file'));
        await client.ask(read);
        const arrays: readonly Json[][] = [[], [read], [notification], [response], [read, notification, response]];
        for (const array of arrays) {
          house.forget();
          expect(await client.ask(array)).toEqual(refusal(batchRefused));
          expect(house.bytes).toBe(0);
          expect(house.records).toMatchObject([
            { decision: 'deny', reason: 'unsupported_mcp_batch', outcome: 'denied', endpoint: paths[where], rules: [] },
          ]);
        }
        // The way in is as good as before.
        expect((await client.ask(read)).result).toBeDefined();
      },
    );

    it(
      'JSON that is deeper than the endpoint has it is refused',
      verifies('gateway:policy:strict-profile', 'gateway:policy:no-permit-no-byte'),
      async () => {
        const house = await openHouse({ more, endpoint: { profile: { jsonDepth: 8 } } });
        const client = await enter(house);
        await client.ask(call(named(where, 'read_file')));
        house.forget();
        const deep = await client.ask(call(named(where, 'read_file'), { a: { b: { c: { d: { e: { f: {} } } } } } }));
        expect(deep.error.data.reason).toBe('too_deep');
        expect(house.bytes).toBe(0);
      },
    );
  });

  describe.each(['merged', 'single'] as const)('%s', (where) => {
    const revisions = [
      {
        name: 'a modern request where there are legacy revisions alone',
        has: ['2025-11-25', '2025-06-18'],
        body: modern(call(named(where, 'read_file'))),
        requested: '2026-07-28',
        action: 'call',
      },
      {
        name: 'initialize where there is no legacy revision',
        has: ['2026-07-28'],
        body: { body: initialize() },
        requested: '2025-11-25',
        action: 'connect',
      },
    ];
    it.each(revisions)(
      'a revision that the profile does not have is refused: $name',
      verifies('gateway:policy:strict-profile', 'gateway:policy:audit'),
      async ({ has, body, requested, action }) => {
        const house = await openHouse({ more, endpoint: { profile: { revisions: has } } });
        house.forget();
        const { error } = (await send(`${house.gateway.origin}${paths[where]}`, body)).json();
        expect(error).toMatchObject({ code: -32022, data: { supported: has, requested } });
        expect(house.bytes).toBe(0);
        expect(house.records).toMatchObject([{ decision: 'deny', reason: 'unsupported_version', action }]);
      },
    );

    it('a version header other than the negotiated one is refused', verifies('gateway:policy:audit'), async () => {
      const house = await openHouse({ more });
      const url = `${house.gateway.origin}${paths[where]}`;
      const client = await connectLegacy(url);
      await client.post(call(named(where, 'read_file')));
      house.forget();
      const headers = { 'mcp-session-id': client.session, 'mcp-protocol-version': '2025-06-18' };
      expect((await send(url, { body: call(named(where, 'read_file')), headers })).status).toBe(400);
      expect(house.bytes).toBe(0);
      expect(house.records).toMatchObject([{ decision: 'deny', reason: 'unsupported_version_header' }]);
    });

    it(
      'Accept without one of the two media types is 406 where the endpoint is strict',
      verifies('gateway:policy:strict-profile', 'gateway:policy:no-permit-no-byte'),
      async () => {
        const house = await openHouse({ more, endpoint: { profile: { accept: 'strict' } } });
        const url = `${house.gateway.origin}${paths[where]}`;
        const client = await connectLegacy(url);
        const message = call(named(where, 'read_file'));
        await client.post(message);
        house.forget();
        for (const accept of ['application/json', 'text/event-stream', '*/*;q=0']) {
          const asModern = modern(message);
          const answers = [
            await send(url, { ...asModern, headers: { ...asModern.headers, accept } }),
            await send(url, { body: message, headers: { 'mcp-session-id': client.session, accept } }),
          ];
          for (const { status, json } of answers)
            expect([status, json().error.data.reason]).toEqual([406, 'not_acceptable']);
        }
        expect(house.bytes).toBe(0);
      },
    );
  });
});

describe.each(ways)('over $name', ({ enter, where, name: way }) => {
  const name = named(where, 'delete_file');
  const denied = refusal({
    ...{ id: 1, code: 403, message: 'Denied by policy', reason: 'policy_denied' },
    data: { rules: ['no-deletes'] },
  });
  const styles = [
    { denials: 'error', answer: denied },
    { denials: 'http403', answer: denied },
    {
      denials: 'hide',
      answer: refusal({
        id: 1,
        code: -32602,
        message: `Unknown tool: ${name}`,
        reason: 'invalid_params',
        data: { name },
      }),
    },
  ];
  it.each(styles)(
    'a denial in the style $denials forwards no byte',
    verifies('gateway:policy:no-permit-no-byte', 'gateway:policy:hide'),
    async ({ denials, answer }) => {
      const house = await openHouse({ endpoint: { denials }, more: { policy: { rules } } });
      const client = await enter(house);
      await client.ask(call(named(where, 'read_file')));
      house.forget();
      expect(await client.ask(call(name))).toEqual(answer);
      expect(house.bytes).toBe(0);
      expect(house.records).toMatchObject([{ decision: 'deny', reason: 'policy_denied', rules: ['no-deletes'] }]);
    },
  );

  it.runIf(way === `Streamable HTTP, legacy, ${where}`)(
    'rules evaluate the body: a disagreeing header changes nothing',
    verifies('gateway:policy:denied-request'),
    async () => {
      const house = await openHouse({ more: { policy: { rules } } });
      const url = `${house.gateway.origin}${paths[where]}`;
      const client = await connectLegacy(url);
      const headers = {
        ...{ 'mcp-session-id': client.session, 'mcp-protocol-version': client.revision },
        ...{ 'mcp-method': 'tools/list', 'mcp-name': named(where, 'read_file') },
      };
      expectRefused(await send(url, { body: call(name), headers }), 200, {
        ...{ id: 1, code: 403, message: 'Denied by policy', reason: 'policy_denied' },
        data: { rules: ['no-deletes'] },
      });
    },
  );
});
