/** Log messages. Levels are of the session in the legacy era, of the request in the modern one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { launchPair, type Pair } from '../harness/pairs.ts';
import { text } from './samples.ts';

const logLevel = 'io.modelcontextprotocol/logLevel';
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
const logged = (level: string) => ({
  level,
  logger: `log of ${level}`,
  data: { text: 'ü', list: [1, null, { deep: true }] },
});

describe.each(eras)('log messages between SDKs, %s', (era) => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await launchPair(
      era,
      { capabilities: { logging: {}, tools: {} } },
      {
        'tools/call': async (_params, { notify }) => {
          for (const level of levels) await notify('notifications/message', logged(level));
          return { content: [text('logged')] };
        },
      },
    );
  });
  afterAll(() => pair.close());

  it('are advertised where the backend has them', verifies('logging:capability:declared'), async () => {
    const client = await pair.connect();
    expect(client.getServerCapabilities()).toEqual({ logging: {}, tools: {} });
  });

  it(
    'of all levels arrive as they were sent',
    verifies('logging:message:all-levels', 'logging:message:fields'),
    async () => {
      const heard: Json[] = [];
      const client = await pair.connect({ hears: { 'notifications/message': (params) => heard.push(params) } });
      await client.callTool({ name: 'log', _meta: era === 'modern' ? { [logLevel]: 'debug' } : {} });
      expect(heard.map(({ level, logger, data }) => ({ level, logger, data }))).toEqual(levels.map(logged));
    },
  );
});

/** A backend that keeps to no level. */
function chatter(turn: Turn): void {
  turn.stream();
  for (const level of levels) turn.event({ jsonrpc: '2.0', method: 'notifications/message', params: logged(level) });
  turn.event({ jsonrpc: '2.0', id: turn.message.id, result: { resultType: 'complete', content: [] } }).end();
}

const heardOn = (events: readonly { data: string | undefined; json(): Json }[]) =>
  events.flatMap(({ data, json }) => (data ? [json()] : [])).flatMap(({ params }) => params?.level ?? []);

describe('the level of a legacy session', () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'log' } };
  const setLevel = (level: unknown) => ({ jsonrpc: '2.0', id: 2, method: 'logging/setLevel', params: { level } });

  it('is sent to the backend', verifies('logging:set-level'), async () => {
    const backend = await legacyBackend({ 'logging/setLevel': (turn) => turn.result({}) });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('b'));
    expect((await client.post(setLevel('notice'))).json()).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
    expect(backend.of('logging/setLevel').map(({ message: { params } }) => params)).toEqual([{ level: 'notice' }]);
  });

  it('drops messages below it', verifies('logging:message:filtered'), async () => {
    const backend = await legacyBackend({ 'tools/call': chatter, 'logging/setLevel': (turn) => turn.result({}) });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('b'));
    const standing = await backend.standing();
    const stream = await client.listen();
    expect((await client.post(setLevel('error'))).json()).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
    expect(heardOn((await client.post(call)).events)).toEqual(['error', 'critical', 'alert', 'emergency']);
    for (const level of ['warning', 'error'])
      standing.event({ jsonrpc: '2.0', method: 'notifications/message', params: logged(level) });
    await stream.message(({ params }) => params?.level === 'error');
    expect(heardOn(stream.events)).toEqual(['error']);
  });

  for (const level of ['verbose', 'ERROR', 3, undefined]) {
    it(`can not be ${JSON.stringify(level)}`, verifies('logging:set-level:invalid-level'), async () => {
      const backend = await legacyBackend({ 'logging/setLevel': (turn) => turn.result({}) });
      const gateway = await startGateway({ backends: { b: { url: backend.url } } });
      const client = await connectLegacy(gateway.url('b'));
      const answer = await client.post(setLevel(level));
      expect({ status: answer.status, body: answer.json() }).toEqual({
        status: 200,
        body: {
          jsonrpc: '2.0',
          id: 2,
          error: { code: -32602, message: 'Unknown log level', data: { reason: 'invalid_params' } },
        },
      });
      expect(backend.of('logging/setLevel')).toEqual([]);
    });
  }
});

describe('the level of a modern request', () => {
  const call = (meta: object) => modern({ method: 'tools/call', params: { name: 'log' }, meta });

  it('is required for any log message', verifies('logging:per-request:opt-in'), async () => {
    const backend = await modernBackend({ 'tools/call': chatter });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const answer = await send(gateway.url('b'), call({}));
    expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 1, result: { resultType: 'complete', content: [] } });
    expect(Object.keys(backend.of('tools/call')[0]?.message.params._meta)).not.toContain(logLevel);
  });

  it('drops messages below it', verifies('logging:per-request:threshold'), async () => {
    const backend = await modernBackend({ 'tools/call': chatter });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const answer = await send(gateway.url('b'), call({ [logLevel]: 'warning' }));
    expect(heardOn(answer.events)).toEqual(['warning', 'error', 'critical', 'alert', 'emergency']);
    expect(backend.of('tools/call')[0]?.message.params._meta[logLevel]).toBe('warning');
  });

  for (const level of ['verbose', 'Info', 1, null]) {
    it(`can not be ${JSON.stringify(level)}`, verifies('logging:per-request:invalid-level'), async () => {
      const backend = await modernBackend({ 'tools/call': chatter });
      const gateway = await startGateway({ backends: { b: { url: backend.url } } });
      const answer = await send(gateway.url('b'), call({ [logLevel]: level }));
      expect(answer.json()).toEqual({
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32602, message: 'Unknown log level', data: { reason: 'invalid_params' } },
      });
      expect(backend.bytes).toBe(0);
    });
  }
});
