import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { probe } from '../../src/upstream/probe.ts';
import type { Transport } from '../../src/upstream/verdict.ts';
import { limits, settleDown } from './support/calls.ts';
import { ManualClock } from './support/clock.ts';
import { agree, modernResult, type Rule, rules, ScriptedConnector } from './support/scripted-connector.ts';

function start(transport: Transport, ...script: Rule[]) {
  return probedChannel(new ScriptedConnector(transport, ...script));
}

function probedChannel(connector: ScriptedConnector) {
  const clock = new ManualClock();
  const probing = probe({ connector, limits, clock, self: '{"name":"bascule","version":"1"}' });
  // Whoever awaits it hears of it; a test may look elsewhere first.
  probing.catch(() => undefined);
  return { clock, connector, probing };
}

const refuse =
  (...supported: string[]): Rule =>
  (asked) =>
    asked.error(-32022, { status: 400, sessionId: undefined }, { supported });

describe('a probe', () => {
  test('sends server/discover with a modern envelope, our name and no capabilities', async () => {
    const { connector, probing } = start('http', rules.modern);
    const { discovery, probedChannel } = await probing;
    const asked = connector.channels[0]?.asked[0];
    expect(asked?.json).toEqual({
      jsonrpc: '2.0',
      id: expect.any(String),
      method: 'server/discover',
      params: {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'bascule', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    });
    expect(asked?.headers).toEqual({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' });
    expect(discovery).toMatchObject({ eras: ['modern'], revision: '2026-07-28' });
    expect(probedChannel?.channel).toBe(connector.channels[0]);
    expect(connector.open).toBe(1);
  });

  test('over HTTP probes a modern backend for a legacy half, too', async () => {
    const { connector, probing } = start('http', (asked) => {
      if (asked.json.method === 'initialize') agree(asked, 'S');
      else asked.result(modernResult);
    });
    const { discovery, probedChannel } = await probing;
    expect(discovery).toMatchObject({ eras: ['modern', 'legacy'], revision: '2026-07-28' });
    expect(connector.channels[0]?.forgotten).toHaveLength(1);
    expect(probedChannel?.channel).toBe(connector.channels[0]);
  });

  test('does not probe a modern backend that lists its revisions', async () => {
    const { connector, probing } = start('http', rules.dual);
    await probing;
    expect(connector.log).toEqual([['server/discover']]);
  });

  test('keeps the process of a modern backend: it is the one that serves', async () => {
    const { connector, probing } = start('stdio', rules.dual);
    const { discovery, probedChannel } = await probing;
    expect(discovery.eras).toEqual(['modern', 'legacy']);
    expect(probedChannel?.channel).toBe(connector.channels[0]);
  });

  test('falls back to initialize on the same channel, without capabilities, and ends that session', async () => {
    const { connector, probing } = start('http', (asked) => {
      if (asked.json.method === 'initialize') agree(asked, 'S');
      else asked.error(-32000, { status: 400, sessionId: undefined });
    });
    const { discovery, probedChannel } = await probing;
    expect(discovery).toMatchObject({ eras: ['legacy'], revision: '2025-11-25', capabilities: { tools: {} } });
    expect(probedChannel).toBeUndefined();
    expect(connector.log).toEqual([['server/discover', 'initialize']]);
    expect(connector.channels[0]?.last.json.params).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bascule', version: '1' },
    });
    expect(connector.channels[0]?.forgotten).toHaveLength(1);
    await settleDown();
    expect(connector.open).toBe(0);
  });

  test('a revision that is refused for another is tried once more, and only once', async () => {
    let times = 0;
    const { connector, probing } = start('http', (asked, channel) => {
      times += 1;
      if (times === 1) refuse('2026-07-28')(asked, channel);
      else rules.modern(asked);
    });
    expect((await probing).discovery.eras).toEqual(['modern']);
    expect(connector.log).toEqual([['server/discover', 'server/discover', 'initialize']]);

    const stubborn = start('http', refuse('2026-07-28'));
    await expect(stubborn.probing).rejects.toMatchObject({ reason: 'backend_invalid' });
    expect(stubborn.connector.log).toEqual([['server/discover', 'server/discover']]);
    await settleDown();
    expect(stubborn.connector.open).toBe(0);
  });

  test('a modern error never leads to initialize', async () => {
    const { connector, probing } = start('http', refuse('2099-01-01'));
    await expect(probing).rejects.toMatchObject({ reason: 'backend_invalid', data: { supported: ['2099-01-01'] } });
    expect(connector.log).toEqual([['server/discover']]);
  });

  test('an outage is no verdict', async () => {
    const { connector, probing } = start('http', (asked) => asked.fail(new Failure('backend_unavailable')));
    await expect(probing).rejects.toMatchObject({ reason: 'backend_unavailable' });
    expect(connector.log).toEqual([['server/discover']]);
    await settleDown();
    expect(connector.open).toBe(0);
  });

  test('of a backend that understands nothing reports that', async () => {
    const { probing } = start('http', (asked) => asked.error(-32601));
    await expect(probing).rejects.toMatchObject({
      reason: 'backend_invalid',
      message: 'The backend understood neither server/discover nor initialize (The backend refused initialize)',
    });
  });

  test('answers a ping meanwhile, and rejects server requests', async () => {
    const { connector, probing } = start('stdio', (asked, channel) => {
      if (asked.json.method === 'server/discover') asked.error(-32601);
      else {
        channel.say({ jsonrpc: '2.0', id: 1, method: 'ping' });
        channel.say({ jsonrpc: '2.0', id: 2, method: 'roots/list' });
        agree(asked);
      }
    });
    await probing;
    expect(connector.channels[0]?.posted()).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32601 } },
    ]);
  });
});

describe('a probe over stdio', () => {
  test('treats a timeout as a legacy server', async () => {
    const { clock, connector, probing } = start('stdio', rules.taciturn);
    await clock.waiting(limits.probeMs);
    clock.advance(limits.probeMs);
    expect((await probing).discovery.eras).toEqual(['legacy']);
    expect(connector.log).toEqual([['server/discover', 'initialize']]);
    expect(clock.pending).toEqual([]);
  });

  test('a modern server that was slow to start is recognised by its late answer', async () => {
    const { clock, connector, probing } = start('stdio', rules.silent);
    await clock.waiting(limits.probeMs);
    clock.advance(limits.probeMs);
    await clock.waiting(limits.firstByteMs);
    connector.channels[0]?.asked[0]?.result(modernResult);
    const { discovery, probedChannel, half } = await probing;
    expect(discovery.eras).toEqual(['modern']);
    expect(half).toBe('unknown');
    // It was told `initialize`, so it may think that it is in a session.
    expect(probedChannel).toBeUndefined();
    await settleDown();
    expect(connector.open).toBe(0);
  });

  test('a modern server that refuses initialize before it answers server/discover is recognised, too', async () => {
    const { clock, connector, probing } = start('stdio', rules.silent);
    await clock.waiting(limits.probeMs);
    clock.advance(limits.probeMs);
    await clock.waiting(limits.firstByteMs);
    const [discover, initialize] = connector.channels[0]?.asked ?? [];
    initialize?.error(-32601);
    await clock.waiting(limits.probeMs);
    discover?.result(modernResult);
    expect((await probing).discovery.eras).toEqual(['modern']);
  });

  test('fails if initialize is not answered either', async () => {
    const { clock, connector, probing } = start('stdio', rules.silent);
    await clock.waiting(limits.probeMs);
    clock.advance(limits.probeMs);
    await clock.waiting(limits.firstByteMs);
    clock.advance(limits.firstByteMs);
    await expect(probing).rejects.toMatchObject({ reason: 'backend_timeout' });
    await settleDown();
    expect(connector.open).toBe(0);
  });

  test('a process that exits on the probe is started once more, and gets initialize at once', async () => {
    const { connector, probing } = start('stdio', rules.touchy);
    expect((await probing).discovery.eras).toEqual(['legacy']);
    expect(connector.log).toEqual([['server/discover'], ['initialize']]);
    await settleDown();
    expect(connector.open).toBe(1);
    expect((await probing).session?.probedChannel.channel).toBe(connector.channels[1]);
  });

  test('a process that exits on every request is not started a third time', async () => {
    const { connector, probing } = start('stdio', rules.broken);
    await expect(probing).rejects.toMatchObject({ reason: 'backend_unavailable' });
    await settleDown();
    expect(connector.log).toEqual([['server/discover'], ['initialize']]);
  });
});

describe('a probe of an address that may be one of HTTP+SSE', () => {
  const facts = (status: number) => ({ status, sessionId: undefined });
  const refusing =
    (discover: number, initialize = discover): Rule =>
    (asked) => {
      const status = asked.json.method === 'initialize' ? initialize : discover;
      asked.fail(new Failure('backend_invalid', { message: `HTTP ${status}` }), facts(status));
    };
  const refusingIn =
    (status: number, code: number): Rule =>
    (asked) =>
      asked.error(code, facts(status));

  /** An address that answers POSTs by one rule, and what is said over the older transport by another. */
  function startAuto(posts: Rule, older: Rule = rules.legacy, refuse?: Failure) {
    const connector = new ScriptedConnector('http', posts);
    connector.older = new ScriptedConnector('sse', older);
    connector.older.refuse = refuse;
    return { ...probedChannel(connector), older: connector.older };
  }

  const found: readonly { name: string; posts: Rule }[] = [
    { name: '400', posts: refusing(400) },
    { name: '404', posts: refusing(404) },
    { name: '405', posts: refusing(405) },
    { name: 'one of them, then another', posts: refusing(405, 400) },
    { name: '400 in JSON-RPC that is not modern', posts: refusingIn(400, -32000) },
    { name: '404 in JSON-RPC that is not modern', posts: refusingIn(404, -32001) },
  ];
  test.each(found)('finds it when POSTs are refused with $name', async ({ posts }) => {
    const { connector, older, probing } = startAuto(posts);
    const { discovery, way, probedChannel } = await probing;
    expect(discovery).toMatchObject({ eras: ['legacy'], revision: '2025-11-25' });
    expect(way).toBe(older);
    expect(probedChannel).toBeUndefined();
    expect(connector.log).toEqual([['server/discover', 'initialize']]);
    expect(older.log).toEqual([['initialize']]);
    // It is asked a second question by now: it is awake.
    expect(older.patience).toEqual([limits.probeMs]);
    expect(older.channels[0]?.last.json.params).toMatchObject({ capabilities: {} });
    await settleDown();
    expect([connector.open, older.open]).toEqual([0, 0]);
  });

  const kept: readonly { name: string; posts: Rule; reason: string }[] = [
    { name: '401', posts: refusing(401), reason: 'backend_invalid' },
    { name: '500', posts: refusing(500), reason: 'backend_invalid' },
    { name: '415', posts: refusing(415), reason: 'backend_invalid' },
    { name: '405, then an outage', posts: refusing(405, 503), reason: 'backend_invalid' },
    { name: '200, then 404', posts: refusing(200, 404), reason: 'backend_invalid' },
    {
      name: '400 with an error that only modern servers give',
      posts: refusingIn(400, -32020),
      reason: 'backend_invalid',
    },
    {
      name: '404 with the unknown method of a modern server',
      posts: refusingIn(404, -32601),
      reason: 'backend_invalid',
    },
    {
      name: 'a broken line',
      posts: (asked) => asked.fail(new Failure('backend_unavailable')),
      reason: 'backend_unavailable',
    },
  ];
  test.each(kept)('does not look for it after $name', async ({ posts, reason }) => {
    const { older, probing } = startAuto(posts);
    await expect(probing).rejects.toMatchObject({ reason });
    expect(older.eras).toEqual([]);
  });

  test('does not look for it where the backend answers', async () => {
    const { connector, older, probing } = startAuto(rules.legacy);
    expect((await probing).way).toBe(connector);
    expect(older.eras).toEqual([]);
  });

  test('does not look for it where the configuration rules it out', async () => {
    const { probing } = start('http', refusing(405));
    await expect(probing).rejects.toMatchObject({
      reason: 'backend_invalid',
      message: 'The backend understood neither server/discover nor initialize (HTTP 405)',
    });
  });

  const absent = ['backend_invalid', 'backend_timeout'] as const;
  test.each(absent)('reports the rejection if there is none: %s', async (reason) => {
    const { probing } = startAuto(refusing(404), rules.legacy, new Failure(reason, { message: 'none here' }));
    await expect(probing).rejects.toMatchObject({
      reason: 'backend_invalid',
      message:
        'The backend understood neither server/discover nor initialize (HTTP 404), and there is no HTTP+SSE stream (none here)',
    });
  });

  test('an outage is no verdict there either', async () => {
    const { connector, probing } = startAuto(refusing(404), rules.legacy, new Failure('backend_unavailable'));
    await expect(probing).rejects.toMatchObject({ reason: 'backend_unavailable' });
    await settleDown();
    expect(connector.open).toBe(0);
  });

  test('an initialize that is rejected there is reported unchanged', async () => {
    const { older, probing } = startAuto(refusing(404), (asked) => asked.error(-32600));
    await expect(probing).rejects.toMatchObject({
      reason: 'backend_invalid',
      message: 'The backend refused initialize',
    });
    await settleDown();
    expect(older.open).toBe(0);
  });

  test('sends initialize alone if it is configured, with the time that a slow start needs', async () => {
    const { connector, probing } = start('sse', rules.legacy);
    const { discovery, way, probedChannel } = await probing;
    expect(discovery.eras).toEqual(['legacy']);
    expect(way).toBe(connector);
    expect(probedChannel).toBeUndefined();
    expect(connector.log).toEqual([['initialize']]);
    expect(connector.patience).toEqual([undefined]);
    await settleDown();
    expect(connector.open).toBe(0);
  });
});
