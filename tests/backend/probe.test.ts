import { describe, expect, test } from 'vitest';
import { openLine } from '../../src/backend/line.ts';
import { probe } from '../../src/backend/probe.ts';
import { Failure } from '../../src/errors.ts';
import { limits, settleDown } from './support/calls.ts';
import { ManualClock } from './support/clock.ts';
import { agree, modernResult, type Rule, rules, ScriptedConnector } from './support/scripted-connector.ts';

function start(transport: 'stdio' | 'http', ...script: Rule[]) {
  const clock = new ManualClock();
  const connector = new ScriptedConnector(transport, ...script);
  const probing = probe({
    transport,
    open: () => openLine((sink) => connector.connect('modern', sink)),
    limits,
    clock,
    self: '{"name":"bascule","version":"1"}',
  });
  // Whoever awaits it hears of it; a test may look elsewhere first.
  probing.catch(() => undefined);
  return { clock, connector, probing };
}

const refuse =
  (...supported: string[]): Rule =>
  (asked) =>
    asked.error(-32022, { status: 400, sessionId: undefined }, { supported });

describe('a probe', () => {
  test('asks server/discover with a modern envelope, our name and no capabilities', async () => {
    const { connector, probing } = start('http', rules.modern);
    const { discovery, line } = await probing;
    const asked = connector.channels[0]?.asked[0];
    expect(asked?.json).toEqual({
      jsonrpc: '2.0',
      id: 1,
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
    expect(line?.channel).toBe(connector.channels[0]);
    expect(connector.open).toBe(1);
  });

  test('over HTTP a modern backend is asked whether it has a legacy half, too', async () => {
    const { connector, probing } = start('http', (asked) => {
      if (asked.json.method === 'initialize') agree(asked, 'S');
      else asked.result(modernResult);
    });
    const { discovery, line } = await probing;
    expect(discovery).toMatchObject({ eras: ['modern', 'legacy'], revision: '2026-07-28' });
    expect(connector.channels[0]?.forgotten).toHaveLength(1);
    expect(line?.channel).toBe(connector.channels[0]);
  });

  test('a modern backend that says which revisions it has is not asked', async () => {
    const { connector, probing } = start('http', rules.dual);
    await probing;
    expect(connector.log).toEqual([['server/discover']]);
  });

  test('keeps the process of a modern backend: it is the one that serves', async () => {
    const { connector, probing } = start('stdio', rules.dual);
    const { discovery, line } = await probing;
    expect(discovery.eras).toEqual(['modern', 'legacy']);
    expect(line?.channel).toBe(connector.channels[0]);
  });

  test('falls back to initialize on the same channel, without capabilities, and ends that session', async () => {
    const { connector, probing } = start('http', (asked) => {
      if (asked.json.method === 'initialize') agree(asked, 'S');
      else asked.error(-32000, { status: 400, sessionId: undefined });
    });
    const { discovery, line } = await probing;
    expect(discovery).toMatchObject({ eras: ['legacy'], revision: '2025-11-25', capabilities: { tools: {} } });
    expect(line).toBeUndefined();
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

  test('a backend that understands nothing is said to be so', async () => {
    const { probing } = start('http', (asked) => asked.error(-32601));
    await expect(probing).rejects.toMatchObject({
      reason: 'backend_invalid',
      message: 'The backend understood neither server/discover nor initialize (The backend refused initialize)',
    });
  });

  test('answers a ping meanwhile, and refuses questions', async () => {
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
  test('takes silence for a legacy server, after its time', async () => {
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
    const { discovery, line } = await probing;
    expect(discovery.eras).toEqual(['modern']);
    // It was told `initialize`, so it may think that it is in a session.
    expect(line).toBeUndefined();
    await settleDown();
    expect(connector.open).toBe(0);
  });

  test('gives up where initialize is not answered either', async () => {
    const { clock, connector, probing } = start('stdio', rules.silent);
    await clock.waiting(limits.probeMs);
    clock.advance(limits.probeMs);
    await clock.waiting(limits.firstByteMs);
    clock.advance(limits.firstByteMs);
    await expect(probing).rejects.toMatchObject({ reason: 'backend_timeout' });
    await settleDown();
    expect(connector.open).toBe(0);
  });

  test('a process that ends on the probe is started once more, and asked initialize at once', async () => {
    const { connector, probing } = start('stdio', rules.touchy);
    expect((await probing).discovery.eras).toEqual(['legacy']);
    expect(connector.log).toEqual([['server/discover'], ['initialize']]);
    await settleDown();
    expect(connector.open).toBe(0);
  });

  test('a process that ends whatever it is asked is not started a third time', async () => {
    const { connector, probing } = start('stdio', rules.broken);
    await expect(probing).rejects.toMatchObject({ reason: 'backend_unavailable' });
    await settleDown();
    expect(connector.log).toEqual([['server/discover'], ['initialize']]);
  });
});
