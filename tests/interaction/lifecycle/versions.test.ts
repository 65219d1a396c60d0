/** Which revision is spoken on each side, and what becomes of one that nobody knows. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, call, echo, expectRefused, result, text } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, initialize } from '../harness/eras.ts';

const legacy = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

describe('towards a client', () => {
  for (const revision of legacy) {
    it(`${revision} is answered with itself`, verifies('lifecycle:version:match'), async () => {
      const { url, backend } = await behindLegacy(echo, {
        endpoint: { profile: { revisions: legacy, batches: 'allow' } },
      });
      const client = await connectLegacy(url, { revision });
      expect(client.revision).toBe(revision);
      expect(backend.of('initialize').at(-1)?.message.params.protocolVersion).toBe(revision);
      expect((await client.post(call(1))).json()).toEqual(result(1, text('{}')));
    });
  }

  it.each(['2026-07-28', '2030-01-01', '2025-11-24', 'newest', ''])(
    '%j is answered with the newest of the profile',
    verifies('lifecycle:version:server-fallback-latest'),
    async (revision) => {
      const profile = { revisions: ['2024-11-05', '2025-06-18', '2026-07-28'] };
      const { url } = await behindLegacy(echo, { endpoint: { profile } });
      const answer = await send(url, { body: initialize({ revision }) });
      expect({ status: answer.status, revision: answer.json().result.protocolVersion }).toEqual({
        status: 200,
        revision: '2025-06-18',
      });
    },
  );
});

describe('towards a backend', () => {
  for (const { revision, header } of [
    { revision: '2024-11-05', header: undefined },
    { revision: '2025-03-26', header: undefined },
    { revision: '2025-06-18', header: '2025-06-18' },
  ]) {
    it(
      `${revision} is used if the backend has no newer one, whatever the client uses`,
      verifies('lifecycle:version:downgrade'),
      async () => {
        const { url, backend } = await behindLegacy(echo, { backend: { revision } });
        const client = await connectLegacy(url, { revision: '2025-11-25' });
        expect(client.revision).toBe('2025-11-25');
        expect((await client.post(call(1, { a: 1 }))).json()).toEqual(result(1, text('{"a":1}')));
        const [called] = backend.of('tools/call');
        expect(called?.headers['mcp-protocol-version']).toBe(header);
        const [ready] = backend.of('notifications/initialized');
        expect(ready?.headers['mcp-protocol-version']).toBe(header);
      },
    );
  }

  it.each(['2026-07-28', '2030-01-01', 'newest', 7])(
    '%j as the answer to initialize is no session',
    verifies('lifecycle:version:reject-unsupported'),
    async (revision) => {
      const { url, backend } = await behindLegacy({
        initialize: (turn) =>
          turn.json(
            {
              jsonrpc: '2.0',
              id: turn.message.id,
              result: {
                protocolVersion: revision,
                capabilities: { tools: {} },
                serverInfo: { name: 's', version: '1' },
              },
            },
            200,
            { 'mcp-session-id': 'never used' },
          ),
      });
      const answer = await send(url, { body: initialize() });
      expectRefused(answer, 200, {
        id: 'init',
        code: -32603,
        message:
          'The backend understood neither server/discover nor initialize (The backend negotiated a legacy revision that the gateway does not know)',
        reason: 'backend_invalid',
      });
      expect(answer.headers['mcp-session-id']).toBeUndefined();
      expect(backend.received.filter(({ headers }) => headers['mcp-session-id'] !== undefined)).toEqual([]);
      expect(backend.of('notifications/initialized')).toEqual([]);
    },
  );
});
