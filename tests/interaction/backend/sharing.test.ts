/**
 * Who has what of an HTTP backend: connections for all, sessions of their own for legacy clients, one lane for
 * everybody where it is modern.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, behindModern, call, echo, result, text } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';

const params = { name: 'work', arguments: {} };
/**
 * Calls, one-way posts and streams have their own, and one call may begin while the last one is just ending: far fewer
 * than calls.
 */
const FEW = 8;
describe('connections', verifies('gateway:backend:connections-reused'), () => {
  it('and a session serve all calls of a legacy client, one after the other', async () => {
    const { url, backend } = await behindLegacy(echo);
    const client = await connectLegacy(url);
    await backend.standing();
    await client.post(call(0, {}));
    for (let n = 1; n <= 30; n++)
      expect((await client.post(call(n, { n }))).json()).toEqual(result(n, text(`{"n":${n}}`)));
    expect(backend.connections).toBeLessThanOrEqual(FEW);
    expect(backend.of('initialize')).toHaveLength(2);
    expect(new Set(backend.of('tools/call').map(({ headers }) => headers['mcp-session-id']))).toEqual(
      new Set(['upstream-2']),
    );
  });

  it('and a pooled session serve all calls of modern clients at a legacy backend', async () => {
    const { url, backend } = await behindLegacy({ ...echo, 'tools/list': (turn) => turn.result({ tools: [] }) });
    await send(url, modern({ id: 0, method: 'tools/call', params }));
    const initialized = backend.of('initialize').length;
    for (let id = 1; id <= 30; id++) {
      expect((await send(url, modern({ id, method: 'tools/call', params }))).json()).toMatchObject({ id, result: {} });
    }
    expect(backend.connections).toBeLessThanOrEqual(FEW);
    expect(backend.of('initialize')).toHaveLength(initialized);
    expect(new Set(backend.of('tools/call').map(({ headers }) => headers['mcp-session-id'])).size).toBe(1);
  });

  it(
    'to a modern backend are shared by all clients',
    verifies('gateway:backend:connections-reused', 'gateway:backend:modern-shared'),
    async () => {
      const { url, backend } = await behindModern(
        {
          // The tool is in the list, so that the list is read once however long this takes.
          'tools/list': (turn) =>
            turn.result({
              ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' },
              tools: [{ name: 'work', inputSchema: { type: 'object' } }],
            }),
          'tools/call': (turn) =>
            turn.result({ resultType: 'complete', ...text(String(turn.message.params.arguments.n)) }),
        },
        { backend: { capabilities: { tools: {} } } },
      );
      const numbered = (n: number) => ({ name: 'work', arguments: { n } });
      await send(url, modern({ id: 0, method: 'tools/call', params: numbered(0) }));
      backend.forget();
      for (let n = 1; n <= 15; n++) {
        const modernAnswer = await send(url, modern({ id: n, method: 'tools/call', params: numbered(n) }));
        expect(modernAnswer.json().result.content).toEqual(text(String(n)).content);
        const client = await connectLegacy(url);
        expect((await client.post(call(n, { n }))).json()).toEqual(result(n, text(String(n))));
      }
      expect(backend.connections).toBeLessThanOrEqual(FEW);
      expect(backend.received.map(({ message }) => message.method)).toEqual(Array(30).fill('tools/call'));
    },
  );
});

describe('a legacy HTTP backend', verifies('gateway:backend:own-session'), () => {
  it('has a session for each client session, introduced as that client', async () => {
    const { url, backend } = await behindLegacy(echo);
    const clients = [
      await connectLegacy(url, { capabilities: { roots: {} } }),
      await connectLegacy(url, { capabilities: { elicitation: {} } }),
      await connectLegacy(url),
    ];
    for (const [at, client] of clients.entries()) {
      for (const n of [1, 2]) await client.post(call(n, { at }));
    }
    const sessions = clients.map((_, at) => [
      ...new Set(
        backend
          .of('tools/call')
          .filter(({ message }) => message.params.arguments.at === at)
          .map(({ headers }) => headers['mcp-session-id']),
      ),
    ]);
    expect(sessions).toEqual([['upstream-2'], ['upstream-3'], ['upstream-4']]);
    const [, ...introductions] = backend.of('initialize').map(({ message }) => message.params.capabilities);
    expect(introductions).toEqual([{ roots: {} }, { elicitation: {} }, {}]);
    // One ends, and takes nothing of the others along.
    await clients[0]?.end();
    expect((await clients[1]?.post(call(3, { at: 1 })))?.status).toBe(200);
    const ended = backend.received
      .filter(({ http }) => http === 'DELETE')
      .map(({ headers }) => headers['mcp-session-id']);
    expect(ended).toEqual(expect.arrayContaining(['upstream-1', 'upstream-2']));
    expect(ended).toHaveLength(2);
  });
});
