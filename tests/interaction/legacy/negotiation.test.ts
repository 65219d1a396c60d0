/** Which revision is spoken: what `initialize` agrees on, and what the version header may say afterwards. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  batchRefused,
  behindLegacy,
  behindModern,
  call,
  echo,
  expectRefused,
  notification,
  request,
  result,
  text,
} from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { connectLegacy, initialize, modern } from '../harness/eras.ts';

const unsupportedHeader = {
  code: -32600,
  message: 'Unsupported protocol version',
  reason: 'unsupported_version_header',
};

describe('initialize', () => {
  const asked = [
    { name: 'the oldest', revision: '2024-11-05', agreed: '2024-11-05' },
    { name: 'the one with batches', revision: '2025-03-26', agreed: '2025-11-25' },
    { name: 'an older one', revision: '2025-06-18', agreed: '2025-06-18' },
    { name: 'the newest legacy one', revision: '2025-11-25', agreed: '2025-11-25' },
    { name: 'the modern one', revision: '2026-07-28', agreed: '2025-11-25' },
    { name: 'an unknown one', revision: '2099-01-01', agreed: '2025-11-25' },
    { name: 'one before the first', revision: '1999-12-31', agreed: '2025-11-25' },
    { name: 'no date at all', revision: 'latest', agreed: '2025-11-25' },
    { name: 'nothing', revision: '', agreed: '2025-11-25' },
  ];

  it.each(asked)(
    'that requests $name agrees on $agreed',
    verifies('gateway:legacy:initialize-negotiates'),
    async (row) => {
      const { url } = await behindLegacy();
      const answer = await send(url, { body: initialize({ revision: row.revision }) });
      expect(answer.status).toBe(200);
      expect(answer.headers['mcp-session-id']).toBeDefined();
      expect(answer.json().result.protocolVersion).toBe(row.agreed);
    },
  );

  it('offers the newest of a profile', verifies('gateway:legacy:initialize-negotiates'), async () => {
    const { url } = await behindLegacy({}, { endpoint: { profile: { revisions: ['2025-06-18', '2024-11-05'] } } });
    const answer = await send(url, { body: initialize({ revision: '2025-11-25' }) });
    expect(answer.json().result.protocolVersion).toBe('2025-06-18');
  });

  it('is not refused for its version header', verifies('gateway:legacy:initialize-negotiates'), async () => {
    const { url } = await behindLegacy();
    for (const version of ['2025-06-18', '2099-01-01', 'latest']) {
      const answer = await send(url, { body: initialize(), headers: { 'mcp-protocol-version': version } });
      expect(answer.status).toBe(200);
      expect(answer.json().result.protocolVersion).toBe('2025-11-25');
    }
  });

  it(
    'is -32022 where the endpoint has no legacy revision',
    verifies('gateway:legacy:initialize-modern-only'),
    async () => {
      const { url, backend } = await behindLegacy({}, { endpoint: { profile: { revisions: ['2026-07-28'] } } });
      const answer = await send(url, { body: initialize({ revision: '2025-06-18' }) });
      expectRefused(answer, 400, {
        id: 'init',
        code: -32022,
        message: 'Unsupported protocol version',
        reason: 'unsupported_version',
        data: { supported: ['2026-07-28'], requested: '2025-06-18' },
      });
      expect(answer.headers['mcp-session-id']).toBeUndefined();
      expect(backend.bytes).toBe(0);
    },
  );

  it(
    'a second time in a live session is rejected, and changes nothing',
    verifies('gateway:legacy:second-initialize', 'hosting:session:reinitialize'),
    async () => {
      const { url, backend } = await behindModern({
        'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('done') }),
      });
      const client = await connectLegacy(url, { revision: '2025-06-18', capabilities: { roots: {} } });
      // The session's own way of hearing of changes.
      await backend.arrival('subscriptions/listen');
      backend.forget();
      const other = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'another', version: '9' } };
      for (const headers of [{}, { 'mcp-protocol-version': '2025-11-25' }]) {
        const answer = await client.post(request('again', 'initialize', other), headers);
        expectRefused(answer, 400, {
          id: 'again',
          code: -32600,
          message: 'Session already initialized',
          reason: 'session_exists',
        });
        expect(answer.headers['mcp-session-id']).toBeUndefined();
      }
      expect(backend.bytes).toBe(0);
      expect((await client.post(call(5), { 'mcp-protocol-version': '2025-11-25' })).status).toBe(400);
      expect((await client.post(call(6))).json()).toEqual(result(6, text('done')));
      expect(backend.of('tools/call')[0]?.message.params._meta).toMatchObject({
        'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': { roots: {} },
      });
    },
  );

  it(
    'a second time while calls are running leaves them running',
    verifies('gateway:legacy:second-initialize'),
    async () => {
      const { url, backend } = await behindLegacy({
        'tools/call': (turn) => void setImmediate(() => turn.result(text('still here'))),
      });
      const client = await connectLegacy(url);
      const running = client.post(call(1));
      const again = await client.post(initialize());
      expect(again.status).toBe(400);
      expect((await running).json()).toEqual(result(1, text('still here')));
      // One to find out what the backend is, one for the session.
      expect(backend.of('initialize')).toHaveLength(2);
    },
  );
});

describe('the version header in a session', () => {
  const others = ['2025-06-18', '2025-03-26', '2024-11-05', '2099-01-01', 'latest', '2025-11-25 '.repeat(2), 'ä'];
  const wrong = others.map((version) => ({ version }));

  it.each(wrong)(
    '$version instead of the negotiated one is 400, for every method',
    verifies(
      'gateway:legacy:version-header-400',
      'hosting:http:protocol-version-400',
      'hosting:http:protocol-version-rejection-literal',
    ),
    async ({ version }) => {
      const { url, backend } = await behindLegacy(echo);
      const client = await connectLegacy(url);
      await backend.standing();
      backend.forget();
      const headers = { ...client.headers, 'mcp-protocol-version': version };
      expectRefused(await client.post(call(7), headers), 400, { ...unsupportedHeader, id: 7 });
      const oneWay = await client.post(notification('notifications/roots/list_changed'), headers);
      expectRefused(oneWay, 400, unsupportedHeader);
      expectRefused(await client.post(result(1, {}), headers), 400, unsupportedHeader);
      const accept = { accept: 'text/event-stream' };
      expectRefused(await send(url, { method: 'GET', headers: { ...headers, ...accept } }), 400, unsupportedHeader);
      expectRefused(await send(url, { method: 'DELETE', headers }), 400, unsupportedHeader);
      expect(backend.bytes).toBe(0);
      expect((await client.post(call(8, { ok: 1 }))).json()).toEqual(result(8, text('{"ok":1}')));
    },
  );

  it(
    'is not required: the negotiated version is used',
    verifies('gateway:legacy:version-header-absent', 'hosting:http:protocol-version-default'),
    async () => {
      const { url, backend } = await behindLegacy({
        ...echo,
        // Of a younger revision than the one that is agreed on below.
        'tasks/list': (turn) => turn.result({ tasks: [] }),
      });
      const client = await connectLegacy(url, { revision: '2025-06-18' });
      const headers = { 'mcp-session-id': client.session };
      const answer = await send(url, { headers, body: call(1, { n: 1 }) });
      expect(answer.status).toBe(200);
      expect(answer.json()).toEqual(result(1, text('{"n":1}')));
      expect((await send(url, { headers, body: notification('notifications/roots/list_changed') })).status).toBe(202);
      const younger = await send(url, { headers, body: request(2, 'tasks/list') });
      expect(younger.json()).toMatchObject({ id: 2, error: { code: -32601, message: 'Method not found' } });
      expect((await send(url, { method: 'DELETE', headers })).status).toBe(204);
      expect(backend.of('tools/call')[0]?.headers['mcp-protocol-version']).toBe('2025-06-18');
    },
  );
});

describe('the version header without a session', () => {
  const outside = [
    { name: 'unknown', version: '2099-01-01' },
    { name: 'malformed', version: 'latest' },
    { name: 'outside the profile', version: '2025-03-26' },
  ];

  it.each(outside)(
    'is 400 where it is $name',
    verifies('hosting:http:protocol-version-400', 'hosting:http:protocol-version-rejection-literal'),
    async ({ version }) => {
      const { url, backend } = await behindLegacy(echo, { endpoint: { sessions: 'optional' } });
      const answer = await send(url, { body: call(7), headers: { 'mcp-protocol-version': version } });
      expectRefused(answer, 400, { ...unsupportedHeader, id: 7 });
      expect(backend.bytes).toBe(0);
    },
  );

  it('is 400 for a modern request outside the profile', verifies('hosting:http:protocol-version-400'), async () => {
    const { url, backend } = await behindLegacy(echo, { endpoint: { profile: { revisions: ['2025-11-25'] } } });
    const answer = await send(url, modern({ id: 7, method: 'tools/list' }));
    expectRefused(answer, 400, {
      id: 7,
      code: -32022,
      message: 'Unsupported protocol version',
      reason: 'unsupported_version',
      data: { supported: ['2025-11-25'], requested: '2026-07-28' },
    });
    expect(backend.bytes).toBe(0);
  });
});

describe('methods of the other era', verifies('gateway:legacy:modern-method-refused'), () => {
  it.each(['server/discover', 'subscriptions/listen', 'tasks/update'])('%s is -32601', async (method) => {
    const { url, backend } = await behindModern();
    const client = await connectLegacy(url);
    await backend.arrival('subscriptions/listen');
    backend.forget();
    const answer = await client.post(request(7, method, {}));
    expectRefused(answer, 200, {
      id: 7,
      code: -32601,
      message: 'Method not found',
      reason: 'method_not_found',
      data: { method },
    });
    expect(backend.bytes).toBe(0);
  });
});

describe('a profile that denies batches', verifies('gateway:legacy:batch-not-negotiated'), () => {
  it('does not agree on 2025-03-26', async () => {
    for (const endpoint of [{}, { profile: {} }, { profile: { batches: 'deny' } }]) {
      const { url } = await behindLegacy({}, { endpoint });
      const client = await connectLegacy(url, { revision: '2025-03-26' });
      expect(client.revision).toBe('2025-11-25');
    }
  });

  it('agrees on it where it names it, and refuses batches all the same', async () => {
    const profile = { batches: 'deny', revisions: ['2025-03-26', '2025-06-18'] };
    const { url, backend } = await behindLegacy({}, { endpoint: { profile } });
    const client = await connectLegacy(url, { revision: '2025-03-26' });
    expect(client.revision).toBe('2025-03-26');
    backend.forget();
    expectRefused(await client.post([request(1, 'ping')]), 400, batchRefused);
    expect(backend.of('ping')).toHaveLength(0);
  });

  it('agrees on it where batches are allowed', async () => {
    const { url } = await behindLegacy({}, { endpoint: { profile: { batches: 'allow' } } });
    expect((await connectLegacy(url, { revision: '2025-03-26' })).revision).toBe('2025-03-26');
  });
});
