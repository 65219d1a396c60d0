/** What the gateway says of itself to its operator, over the API that commands and pages share. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { act, ask, call, open } from './setup.ts';

describe('the overview', () => {
  it('has every backend with its state, its source and its age', verifies('gateway:console:overview'), async () => {
    const gateway = await open();
    await send(gateway.url('files'), call('read'));
    const { endpoints, backends, gateway: own, now } = await ask(gateway, '/overview');
    expect(endpoints.map(({ path }: Json) => path)).toContain('/mcp');
    expect(own).toMatchObject({ generation: 1, inFlight: 0, sessions: 0 });
    expect(own.rate).toBeGreaterThan(0);
    const [files, old, away, later] = backends;
    expect(files).toMatchObject({ name: 'files', state: 'ready', eras: ['modern'], source: 'call' });
    expect(old).toMatchObject({ name: 'old', state: 'ready', eras: ['legacy'], source: 'probe' });
    expect(away).toMatchObject({ name: 'away', state: 'down', reason: 'backend_unavailable' });
    expect(away.cause).toContain('ECONNREFUSED');
    expect(later).toMatchObject({ name: 'later', state: 'off', source: 'config' });
    for (const { since, at } of [files, old, away]) {
      expect(since).toBeLessThanOrEqual(now);
      expect(at).toBeLessThanOrEqual(now);
    }
  });
});

describe('a gateway without a console', () => {
  it(
    'tells its states, and refuses questions about calls that it did not record',
    verifies('gateway:console:overview'),
    async () => {
      const gateway = await open({ console: undefined });
      await send(gateway.url('files'), call('read'));
      const { gateway: own, backends } = await ask(gateway, '/overview');
      expect(own).not.toHaveProperty('rate');
      expect(backends[0]).toMatchObject({ name: 'files', state: 'ready' });
      expect(backends[0]).not.toHaveProperty('inFlight');
      expect(await ask(gateway, '/calls')).toMatchObject({ error: { reason: 'not_recorded' } });
    },
  );
});

describe('the calls', () => {
  it('have outcome, rules, client and timings, newest first', verifies('gateway:console:calls'), async () => {
    const gateway = await open();
    await send(gateway.url('files'), call('read'));
    await send(gateway.url('files'), call('read', { bad: true }));
    await send(gateway.url('files'), call('delete'));
    await send(gateway.url('files'), call('other'));
    await send(gateway.url('away'), call('read'));
    const { calls } = await ask(gateway, '/calls');
    expect(calls.map(({ name, outcome, reason, rules }: Json) => ({ name, outcome, reason, rules }))).toEqual([
      { name: 'read', outcome: 'error', reason: 'backend_unavailable', rules: ['all'] },
      { name: 'other', outcome: 'error', reason: undefined, rules: ['all'] },
      { name: 'delete', outcome: 'denied', reason: 'policy_denied', rules: ['no-deletes'] },
      { name: 'read', outcome: 'tool-error', reason: undefined, rules: ['all'] },
      { name: 'read', outcome: 'ok', reason: undefined, rules: ['all'] },
    ]);
    expect(calls[4]).toMatchObject({ who: 'local', client: 'raw/1', revision: '2026-07-28', backend: 'files' });
    const filtered = await ask(gateway, '/calls', { outcome: 'denied,tool-error', backend: 'files' });
    expect(filtered.calls.map(({ outcome }: Json) => outcome)).toEqual(['denied', 'tool-error']);
    const later = await ask(gateway, '/calls', { after: String(calls[1].id) });
    expect(later.calls).toHaveLength(1);
    const one = await ask(gateway, '/call', { id: String(calls[1].id) });
    expect(one).toMatchObject({ outcome: 'error', decision: { rules: ['all'] } });
    expect(one.timings.backends).toMatchObject([{ backend: 'files', code: -32000 }]);
    expect(one.timings.ms).toBeGreaterThanOrEqual(one.timings.atBackends);
    expect(one.bodies).toBeUndefined();
  });
});

describe('the tools', () => {
  it('are listed with the reason why each other one is missing', verifies('gateway:console:tools'), async () => {
    const gateway = await open();
    const { tools, backends } = await ask(gateway, '/tools', { endpoint: '/mcp' });
    expect(tools.map(({ name, state, rules }: Json) => ({ name, state, rules }))).toEqual([
      { name: 'files__read', state: 'shown', rules: undefined },
      { name: 'files__delete', state: 'hidden', rules: ['no-deletes'] },
      { name: 'old__echo', state: 'shown', rules: undefined },
    ]);
    expect(backends.map(({ backend, state }: Json) => ({ backend, state }))).toEqual([
      { backend: 'files', state: 'read' },
      { backend: 'old', state: 'read' },
      { backend: 'away', state: 'failing' },
      { backend: 'later', state: 'off' },
    ]);
    expect(backends[2].cause).toContain('ECONNREFUSED');
    const single = await ask(gateway, '/tools', { endpoint: '/servers/files/mcp' });
    expect(single.tools.map(({ name }: Json) => name)).toEqual(['read', 'delete']);
  });

  it('are tried through every stage', verifies('gateway:console:try'), async () => {
    const gateway = await open();
    const attempt = (tool: string) =>
      act(gateway, '/tools/try', { endpoint: '/servers/files/mcp', tool, arguments: {} });
    expect((await attempt('read')).body).toMatchObject({ outcome: 'result', result: { isError: false } });
    expect((await attempt('delete')).body).toMatchObject({ outcome: 'error', reason: 'policy_denied' });
    expect((await attempt('other')).body).toMatchObject({ outcome: 'error', error: { code: -32000 } });
    const { calls } = await ask(gateway, '/calls');
    expect(calls.map(({ outcome, client }: Json) => ({ outcome, client: client.split('/')[0] }))).toEqual(
      ['error', 'denied', 'ok'].map((outcome) => ({ outcome, client: 'bascule-console' })),
    );
  });
});

describe('ages', () => {
  it(
    'a backend that is down shows since when, and when it was last probed',
    verifies('gateway:console:overview'),
    async () => {
      const gateway = await open({ limits: { restartMinMs: 20, restartMaxMs: 20 } });
      const away = async (): Promise<Json> =>
        (await ask(gateway, '/overview')).backends.find(({ name }: Json) => name === 'away');
      const first = await away();
      expect(first).toMatchObject({ state: 'down', source: 'probe' });
      const backend = gateway.assembled.backends.get('away');
      const probed = backend?.checkedAt ?? 0;
      await until(() => (backend?.checkedAt ?? 0) > probed + 1, 'it was probed again');
      const later = await away();
      expect(later.since).toBe(first.since);
      expect(later.at).toBeGreaterThan(first.at);
    },
  );

  it(
    'minutes before the start are unknown, and minutes without a call are zero',
    verifies('gateway:console:overview'),
    async () => {
      let now = Date.UTC(2026, 6, 28, 12, 0, 30);
      const gateway = await startGateway({ backends: {}, console: {} }, { control: true, timeOfDay: () => now });
      now += 2 * 60_000;
      const { points } = await ask(gateway, '/history', { minutes: '5' });
      const minute = (at: number) => Date.UTC(2026, 6, 28, 12, at);
      expect(points).toEqual([
        { at: minute(-2) },
        { at: minute(-1) },
        ...[0, 1, 2].map((at) => ({ at: minute(at), calls: 0, errors: 0 })),
      ]);
    },
  );
});

describe('people and sessions', () => {
  it(
    'show clients and revisions, and a session can be ended',
    verifies('gateway:console:people', 'gateway:console:revoke'),
    async () => {
      const gateway = await open();
      const client = await connectLegacy(gateway.url('old'), { revision: '2025-06-18' });
      await client.post({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
      const { people, sessions } = await ask(gateway, '/people');
      expect(people).toMatchObject([{ who: 'local', sessions: 1, uses: [{ revision: '2025-06-18' }] }]);
      const [session] = sessions.shown;
      expect(session).toMatchObject({
        endpoint: '/servers/old/mcp',
        revision: '2025-06-18',
        backends: [{ backend: 'old' }],
      });
      expect(JSON.stringify([people, sessions])).not.toContain(client.session);
      expect(await act(gateway, '/sessions/revoke', { session: session.id })).toEqual({
        status: 200,
        body: { ended: 1, streams: 0 },
      });
      expect(gateway.log.map(({ text }) => text)).toContain('an operator has ended a session');
      expect((await client.post({ jsonrpc: '2.0', id: 3, method: 'tools/list' })).status).toBe(404);
      expect(await act(gateway, '/sessions/revoke', { session: session.id })).toMatchObject({ status: 404 });
    },
  );
});

describe('the policy', () => {
  it('has hits for each rule, and decides what is only thought of', verifies('gateway:console:policy'), async () => {
    const gateway = await open();
    await send(gateway.url('files'), call('read'));
    await send(gateway.url('files'), call('delete'));
    const { rules } = await ask(gateway, '/policy');
    expect(rules).toMatchObject([
      { id: 'all', allowed: 1, denied: 0 },
      { id: 'no-deletes', allowed: 0, denied: 1 },
    ]);
    const attempt = async (question: object) => (await act(gateway, '/policy/try', question)).body;
    const asked = { action: 'call', endpoint: '/mcp' };
    expect(await attempt({ ...asked, tool: 'files__read' })).toMatchObject({ decision: 'allow', rules: ['all'] });
    expect(await attempt({ ...asked, tool: 'files__delete' })).toMatchObject({
      decision: 'deny',
      rules: ['no-deletes'],
    });
    expect(await attempt({ action: 'read', uri: 'a:b' })).toMatchObject({
      decision: 'deny',
      why: 'No rule allows it.',
    });
    expect(await attempt({ ...asked, tool: 'x', endpoint: '/no' })).toMatchObject({
      error: { reason: 'invalid_question' },
    });
    expect((await ask(gateway, '/policy')).rules[0].allowed).toBe(1);
  });

  it('counts denials that the client is not told of', verifies('gateway:console:policy'), async () => {
    const gateway = await open({ endpoints: [{ path: '/mcp', denials: 'hide' }] });
    await send(gateway.url(), modern({ method: 'tools/call', params: { name: 'files__delete' } }));
    const { calls } = await ask(gateway, '/calls');
    expect(calls).toMatchObject([{ outcome: 'denied', reason: 'invalid_params', rules: ['no-deletes'] }]);
  });
});
