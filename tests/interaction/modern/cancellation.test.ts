/**
 * A modern client that goes away has cancelled.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#cancellation
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { Held, text } from '../harness/behind.ts';
import { begin, open, send, until } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type ScriptedBackend, type Turn } from '../harness/http-backend.ts';
import { legacyProcess, modernProcess, type StdioBackend } from '../harness/stdio-backend.ts';

const call = modern({ id: 'c', method: 'tools/call', params: { name: 't' }, meta: { progressToken: 'p' } });
const progress = (token: unknown, step: number) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: token, progress: step },
});

function behind(backend: ScriptedBackend | StdioBackend): Promise<TestGateway> {
  const { command, args } = backend as StdioBackend;
  return startGateway({ backends: { b: 'url' in backend ? { url: backend.url } : { command, args } } });
}

/** A client that left harms nobody: the gateway serves the next one, and has nothing to complain of. */
async function expectUnharmed(gateway: TestGateway): Promise<void> {
  const answer = await send(gateway.url('b'), modern({ id: 'next', method: 'tools/list' }));
  expect(answer.json()).toMatchObject({ id: 'next', result: { tools: [] } });
  expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
}

/** A call whose client has begun to read, and then closes its stream. */
async function closedMidway(gateway: TestGateway, held: Held): Promise<Turn> {
  const opening = open(gateway.url('b'), call);
  const turn = await held.nth(1);
  turn.stream().event(progress(turn.message.id, 1));
  const stream = await opening;
  await stream.message(({ method }) => method === 'notifications/progress');
  stream.close();
  return turn;
}

describe('a client that closes its stream', verifies('gateway:modern:close-cancels'), () => {
  it('has its call ended at a modern backend: its stream is closed, too', async () => {
    const held = new Held();
    const backend = await modernBackend({
      'tools/call': held.take,
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
    });
    const gateway = await behind(backend);
    const turn = await closedMidway(gateway, held);
    await turn.closed;
    turn.event(progress(turn.message.id, 2));
    await expectUnharmed(gateway);
    expect(backend.of('notifications/cancelled')).toEqual([]);
  });

  it('has its call cancelled by a notification at a legacy backend, whose stream is closed as well', async () => {
    const held = new Held();
    const backend = await legacyBackend({
      'tools/call': held.take,
      'tools/list': (turn) => turn.result({ tools: [] }),
    });
    const gateway = await behind(backend);
    const turn = await closedMidway(gateway, held);
    await turn.closed;
    const told = await backend.arrival('notifications/cancelled');
    expect(told.message.params.requestId).toBe(turn.message.id);
    expect(told.headers['mcp-session-id']).toBe(turn.received.headers['mcp-session-id']);
    await expectUnharmed(gateway);
    expect(backend.of('notifications/cancelled')).toHaveLength(1);
  });

  const processes = { modern: modernProcess, legacy: legacyProcess };
  for (const [era, start] of Object.entries(processes)) {
    it(`has its call cancelled by a notification at a ${era} process`, async () => {
      const backend = await start({
        'tools/call': () => undefined,
        'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
      });
      const gateway = await behind(backend);
      const opening = open(gateway.url('b'), call);
      const turn = await backend.arrival('tools/call');
      turn.process.say(progress(turn.message.params._meta.progressToken, 1));
      const stream = await opening;
      await stream.message(({ method }) => method === 'notifications/progress');
      stream.close();
      const told = await backend.arrival('notifications/cancelled');
      expect(told.message.params.requestId).toBe(turn.message.id);
      // What it still says goes nowhere.
      turn.process.say(progress(turn.message.params._meta.progressToken, 2));
      turn.result({ resultType: 'complete', ...text('late') });
      await expectUnharmed(gateway);
      expect(backend.of('notifications/cancelled')).toHaveLength(1);
    });
  }

  it('ends its subscription', async () => {
    const held = new Held();
    const backend = await modernBackend({ 'subscriptions/listen': held.take });
    const gateway = await behind(backend);
    const stream = await open(
      gateway.url('b'),
      modern({ method: 'subscriptions/listen', params: { notifications: {} } }),
    );
    const turn = await held.nth(1);
    turn.stream();
    stream.close();
    await turn.closed;
  });
});

describe('a client that disconnects before it got any header', verifies('gateway:modern:close-before-headers'), () => {
  it('has its call ended at a modern backend', async () => {
    const held = new Held();
    const backend = await modernBackend({
      'tools/call': held.take,
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
    });
    const gateway = await behind(backend);
    const client = begin(gateway.url('b'), call);
    const turn = await held.nth(1);
    client.drop();
    await turn.closed;
    await expectUnharmed(gateway);
  });

  it('has its call cancelled by a notification at a legacy backend', async () => {
    const held = new Held();
    const backend = await legacyBackend({
      'tools/call': held.take,
      'tools/list': (turn) => turn.result({ tools: [] }),
    });
    const gateway = await behind(backend);
    const client = begin(gateway.url('b'), call);
    const turn = await held.nth(1);
    client.drop();
    await turn.closed;
    const told = await backend.arrival('notifications/cancelled');
    expect(told.message.params.requestId).toBe(turn.message.id);
    await expectUnharmed(gateway);
  });

  it('never reaches the backend if its call was still queued', async () => {
    const held = new Held();
    const done = (turn: Parameters<Held['take']>[0]) => turn.result({ resultType: 'complete', ...text('done') });
    const backend = await modernBackend({ 'tools/list': held.take, 'tools/call': done });
    const gateway = await behind(backend);
    // The gateway looks at the tool's schema first.
    const client = begin(gateway.url('b'), call);
    const looking = await held.nth(1);
    client.drop();
    // Two round trips after which the end of that connection must have been seen.
    for (let i = 0; i < 2; i++) await send(gateway.url('b'), modern({ method: 'server/discover' }));
    looking.result({ resultType: 'complete', tools: [{ name: 't', inputSchema: { type: 'object' } }] });
    const answer = await send(gateway.url('b'), modern({ id: 'next', method: 'tools/call', params: { name: 't' } }));
    expect(answer.json()).toMatchObject({ id: 'next', result: text('done') });
    await until(() => backend.of('tools/call').length > 0, 'the next call arrived');
    expect(backend.of('tools/call').map(({ message }) => message.params._meta.progressToken)).toEqual([undefined]);
  });
});
