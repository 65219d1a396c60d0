/** Modern clients on the path that legacy clients use as well: neither changes what the other gets. */
import { describe, expect, it, vi } from 'vitest';
import { failures } from '../../../src/errors/failure.ts';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  echo,
  expectRefused,
  Held,
  notification,
  request,
  result,
  text,
} from '../harness/behind.ts';
import { type Call, send } from '../harness/client.ts';
import { connectLegacy, initialize, modern, modernHeaders, modernMeta } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';

const work = (args: object = {}) => ({ name: 'work', arguments: args });
const complete = (turn: Turn) =>
  turn.result({ resultType: 'complete', ...text(JSON.stringify(turn.message.params.arguments)) });

describe('a modern client', () => {
  it(
    'is served with its first request, and its result is complete',
    verifies('hosting:http:modern:tools-call-stateless', 'hosting:http:modern:no-session-id'),
    async () => {
      for (const behind of [await behindModern({ 'tools/call': complete }), await behindLegacy(echo)]) {
        const answer = await send(behind.url, modern({ id: 'x', method: 'tools/call', params: work({ n: 1 }) }));
        expect(answer.status).toBe(200);
        expect(answer.json()).toMatchObject({
          jsonrpc: '2.0',
          id: 'x',
          result: { resultType: 'complete', content: [{ type: 'text', text: '{"n":1}' }] },
        });
        expect(answer.headers['mcp-session-id']).toBeUndefined();
      }
    },
  );

  it(
    'gets no session, and one that it names is ignored',
    verifies('hosting:stateless:no-session-id', 'hosting:http:modern:no-session-id'),
    async () => {
      const { url, backend } = await behindModern({ 'tools/call': complete });
      const legacy = await connectLegacy(url);
      for (const session of ['no-such-session', legacy.session, '']) {
        const headers = { 'mcp-session-id': session, 'last-event-id': 'x.1-1' };
        const sent: Call[] = [
          modern({ method: 'tools/call', params: work(), headers }),
          modern({ method: 'server/discover', headers }),
          {
            body: notification('notifications/cancelled', { requestId: 1 }),
            headers: { ...modernHeaders('x'), ...headers },
          },
          modern({ method: 'no/such/method', headers }),
        ];
        const answers = [];
        for (const one of sent) answers.push(await send(url, one));
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 202, 404]);
        for (const answer of answers) {
          expect(answer.headers['mcp-session-id']).toBeUndefined();
          expect(answer.headers['content-type']).not.toBe('text/event-stream');
        }
      }
      for (const { headers } of backend.received) expect(headers['mcp-session-id']).toBeUndefined();
      expect((await legacy.post(call(1, { still: 'here' }))).json()).toEqual(result(1, text('{"still":"here"}')));
    },
  );

  it('gets nothing of its upstream session', verifies('hosting:http:modern:no-session-id'), async () => {
    const { url, backend } = await behindLegacy(echo);
    const answer = await send(url, modern({ method: 'tools/call', params: work() }));
    expect(backend.of('tools/call')[0]?.headers['mcp-session-id']).toMatch(/^upstream-/);
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(answer.body).not.toContain('upstream-');
  });

  it('sees its own answers alone, among many at once', verifies('hosting:stateless:concurrent-clients'), async () => {
    const held = new Held();
    const { url } = await behindModern({ 'tools/call': held.take });
    const numbers = Array.from({ length: 24 }, (_, n) => n);
    // All of them with the same id.
    const answers = numbers.map((n) => send(url, modern({ id: 1, method: 'tools/call', params: work({ n }) })));
    await held.nth(numbers.length);
    for (const turn of [...held.turns].reverse()) complete(turn);
    expect((await Promise.all(answers)).map((answer) => answer.json())).toEqual(
      numbers.map((n) => result(1, { resultType: 'complete', ...text(`{"n":${n}}`) })),
    );
  });

  it('shares the path with legacy ones', verifies('hosting:http:modern:legacy-fallthrough'), async () => {
    for (const behind of [await behindModern({ 'tools/call': complete }), await behindLegacy(echo)]) {
      const { url } = behind;
      const alone = await send(url, modern({ id: 1, method: 'tools/call', params: work({ n: 1 }) }));
      const legacy = await connectLegacy(url);
      const mixed = await Promise.all([
        send(url, modern({ id: 1, method: 'tools/call', params: work({ n: 1 }) })),
        legacy.post(call(1, { n: 2 })),
        send(url, modern({ id: 1, method: 'tools/call', params: work({ n: 1 }) })),
        legacy.post(call(1, { n: 3 })),
      ]);
      expect(mixed.map((answer) => answer.json())).toEqual([
        alone.json(),
        result(1, text('{"n":2}')),
        alone.json(),
        result(1, text('{"n":3}')),
      ]);
      await legacy.end();
      const after = await send(url, modern({ id: 1, method: 'tools/call', params: work({ n: 1 }) }));
      expect(after.json()).toEqual(alone.json());
    }
  });
});

describe('modern requests that cannot be served', () => {
  const notFound = { code: -32601, message: 'Method not found', reason: 'method_removed' };

  it('initialize in a modern envelope is -32601', verifies('hosting:http:modern:initialize-removed'), async () => {
    const { url, backend } = await behindLegacy(echo);
    const { params } = initialize() as { params: Record<string, unknown> };
    const answer = await send(url, modern({ id: 1, method: 'initialize', params }));
    expectRefused(answer, 404, { ...notFound, id: 1, data: { method: 'initialize' } });
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(backend.bytes).toBe(0);
  });

  it.each(['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe', 'tasks/result'])(
    '%s, which the revision removed, is 404 with -32601',
    verifies('hosting:http:modern:removed-method-status-404'),
    async (method) => {
      const { url, backend } = await behindLegacy();
      const answer = await send(url, modern({ id: 'r', method }));
      expectRefused(answer, 404, { ...notFound, id: 'r', data: { method } });
      expect(backend.bytes).toBe(0);
    },
  );

  const meta = modernMeta() as Record<string, unknown>;
  const without = (key: string) => Object.fromEntries(Object.entries(meta).filter(([name]) => !name.endsWith(key)));
  it.each([
    { name: 'clientCapabilities', given: without('clientCapabilities') },
    { name: 'protocolVersion', given: without('protocolVersion') },
    { name: 'any _meta', given: undefined },
  ])(
    'one without $name is 400 with -32602',
    verifies('hosting:http:modern:envelope-missing-key-status-400'),
    async ({ name, given }) => {
      const { url, backend } = await behindModern();
      const key = name === 'clientCapabilities' ? name : 'protocolVersion';
      const answer = await send(url, {
        headers: modernHeaders('tools/list'),
        body: request(1, 'tools/list', given && { _meta: given }),
      });
      expectRefused(answer, 400, {
        id: 1,
        code: -32602,
        message: `_meta must have io.modelcontextprotocol/${key}`,
        reason: 'missing_meta',
      });
      expect(backend.bytes).toBe(0);
    },
  );

  it('a notification is 202, a response 400', verifies('hosting:http:modern:notification-post-202'), async () => {
    const { url, backend } = await behindModern();
    const headers = { 'mcp-protocol-version': '2026-07-28' };
    for (const method of ['notifications/cancelled', 'notifications/of/tomorrow']) {
      const answer = await send(url, { headers, body: notification(method, { requestId: 1 }) });
      expect(answer).toMatchObject({ status: 202, body: '' });
    }
    for (const body of [result(1, {}), { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } }]) {
      expectRefused(await send(url, { headers, body }), 400, {
        code: -32600,
        message: 'Responses are not accepted in this revision',
        reason: 'response_not_expected',
      });
    }
    expect(backend.bytes).toBe(0);
  });

  it(
    'an internal error is a generic -32603, without the text of the exception',
    verifies('hosting:http:modern:handler-exception-internal-error'),
    async () => {
      const { url, gateway } = await behindModern();
      const backend = gateway.assembled.backends.get('b');
      vi.spyOn(backend as NonNullable<typeof backend>, 'discover').mockRejectedValue(
        new TypeError('cannot read the secret of /etc/hidden'),
      );
      for (const sent of [modern({ id: 'e', method: 'tools/list' }), modern({ id: 'e', method: 'server/discover' })]) {
        const answer = await send(url, sent);
        const { logId } = answer.json().error.data;
        expectRefused(answer, 200, {
          id: 'e',
          code: -32603,
          message: 'Internal error',
          reason: 'internal_error',
          data: { logId },
        });
        const entry = gateway.log.find(({ facts }) => facts.logId === logId);
        expect(entry?.facts.cause).toContain('cannot read the secret of /etc/hidden');
      }
    },
  );
});

describe('discovery', verifies('hosting:http:modern:discover-response-shape'), () => {
  it('has revisions and capabilities, and server info in its _meta alone', async () => {
    const serverInfo = { name: 'the backend', version: '7', title: 'The Backend' };
    const options = { serverInfo, capabilities: { tools: {}, logging: {} }, instructions: 'Be kind.' };
    const supportedVersions = ['2026-07-28', '2025-11-25', '2025-06-18', '2024-11-05'];
    for (const behind of [await behindModern({}, { backend: options }), await behindLegacy({}, { backend: options })]) {
      const answer = await send(behind.url, modern({ id: 'd', method: 'server/discover' }));
      expect(answer.status).toBe(200);
      expect(answer.json()).toEqual(
        result('d', {
          resultType: 'complete',
          supportedVersions,
          capabilities: { tools: {}, logging: {} },
          instructions: 'Be kind.',
          ttlMs: 0,
          cacheScope: 'private',
          _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
        }),
      );
    }
  });
});

describe('the status of a failure', verifies('hosting:http:modern:handler-error-status-via-table'), () => {
  const plain = modern({ id: 1, method: 'tools/call', params: work() });
  const rows: { name: string; sent: Call; reason: keyof typeof failures; answer?: (turn: Turn) => void }[] = [
    { name: 'no JSON', sent: { ...plain, body: '{' }, reason: 'parse_error' },
    { name: 'no message', sent: { ...plain, body: '{}' }, reason: 'invalid_request' },
    { name: 'twins', sent: { ...plain, body: '{"a":1,"a":2}' }, reason: 'ambiguous_json' },
    { name: 'a batch', sent: { ...plain, body: [] }, reason: 'unsupported_mcp_batch' },
    {
      name: 'another name',
      sent: { ...plain, headers: modernHeaders('tools/call', 'play') },
      reason: 'header_mismatch',
    },
    { name: 'no _meta', sent: { ...plain, body: request(1, 'tools/call', work()) }, reason: 'missing_meta' },
    { name: 'another method', sent: modern({ method: 'no/such' }), reason: 'method_removed' },
    {
      name: 'an unknown revision',
      sent: modern({
        method: 'tools/list',
        meta: { 'io.modelcontextprotocol/protocolVersion': '2099-01-01' },
        headers: { 'mcp-protocol-version': '2099-01-01' },
      }),
      reason: 'unsupported_version',
    },
    { name: 'a response', sent: { ...plain, body: result(1, {}) }, reason: 'response_not_expected' },
    {
      name: 'no JSON type',
      sent: { ...plain, headers: { 'content-type': 'text/plain' } },
      reason: 'unsupported_media_type',
    },
    { name: 'an empty answer', sent: plain, reason: 'backend_invalid', answer: (turn) => turn.raw(202, {}) },
    { name: 'no answer', sent: plain, reason: 'backend_unavailable', answer: (turn) => turn.cut() },
  ];

  it.each(rows)('is the one of the table: $name', async ({ sent, reason, answer = complete }) => {
    const { url } = await behindModern({ 'tools/call': answer });
    const { status, json } = await send(url, sent);
    const { error } = json();
    expect(error.data.reason).toBe(reason);
    expect({ status, code: error.code }).toEqual({ status: failures[reason].status, code: failures[reason].modern });
  });
});
