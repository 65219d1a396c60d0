/**
 * stdio: `bascule stdio` as the server of the client that started it.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { isRunning } from '../../upstream/support/processes.ts';
import {
  batchRefused,
  call,
  cancelled,
  echo,
  Held,
  notification,
  refusal,
  request,
  result,
  text,
} from '../harness/behind.ts';
import { type Json, until } from '../harness/client.ts';
import { eras, initialize, modernMeta } from '../harness/eras.ts';
import { legacyBackend, modernBackend, type Script, type ScriptedBackend } from '../harness/http-backend.ts';
import { configFile, StdioClient } from '../harness/program.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';

function behind(backend: ScriptedBackend, more: object = {}): StdioClient {
  return new StdioClient(configFile({ backends: { b: { url: backend.url } }, ...more }));
}

async function agreed(client: StdioClient, capabilities: object = {}): Promise<void> {
  await client.ask(initialize({ capabilities }));
  client.say(notification('notifications/initialized'));
}

/** A modern request, without headers since there are none. */
function modernly(id: number | string, method: string, params: object = {}): Json {
  return request(id, method, { ...params, _meta: modernMeta() });
}

const complete: Script = {
  'tools/call': (turn) =>
    turn.result({ resultType: 'complete', ...text(JSON.stringify(turn.message.params.arguments)) }),
};

describe('stdout', () => {
  it(
    'has one line for each message, however the backend formatted it',
    verifies('gateway:stdio:one-line'),
    async () => {
      const pretty = (value: unknown) => JSON.stringify(value, undefined, 2).replaceAll('\n', '\r\n');
      const backend = await legacyBackend({
        'tools/call': (turn) => {
          const { id } = turn.message;
          if (turn.message.params.name === 'json') turn.json(pretty(result(id, text('two\nlines'))));
          else {
            const told = pretty({
              jsonrpc: '2.0',
              method: 'notifications/message',
              params: { level: 'error', data: '\r\n' },
            });
            turn
              .stream()
              .bytes(
                told
                  .split('\r\n')
                  .map((line) => `data: ${line}\n`)
                  .join(''),
              )
              .bytes('\n');
            turn.event(result(id, text('\u2028'))).end();
          }
        },
      });
      const client = behind(backend);
      await agreed(client);
      expect((await client.ask(request(1, 'tools/call', { name: 'json' }))).result).toEqual(text('two\nlines'));
      expect((await client.ask(request(2, 'tools/call', { name: 'stream' }))).result).toEqual(text('\u2028'));
      client.program.endInput();
      await client.program.end();
      expect(client.program.stdout.endsWith('\n')).toBe(true);
      expect(client.program.stdout).not.toContain('\r');
      // The two answers, what was told between them, and the session.
      expect(client.heard.map(({ id, method }) => id ?? method)).toEqual(['init', 1, 'notifications/message', 2]);
    },
  );

  it('carries protocol messages only', verifies('gateway:stdio:stdout-pure'), async () => {
    const noisy = await legacyProcess({
      'tools/call': (turn) => {
        turn.process.complain('a complaint of the backend\n');
        turn.process.print('no protocol at all\n\n{"json":"but no message"}\n');
        turn.result(text('fine'));
      },
    });
    const client = new StdioClient(
      configFile({
        backends: {
          b: { command: noisy.command, args: noisy.args },
          off: { url: 'http://127.0.0.1:1/mcp', disabled: true },
        },
        endpoints: [{ path: '/mcp', backends: ['b'], profile: { revisions: ['2025-03-26', '2025-11-25'] } }],
      }),
      ['--log-level', 'debug'],
    );
    await agreed(client);
    expect((await client.ask(call(1))).result).toEqual(text('fine'));
    client.say('no JSON');
    await client.message(({ error }) => error?.code === -32700);
    client.program.kill('SIGTERM');
    await client.program.end();
    expect(client.heard.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
    expect(client.heard.map(({ id, error }) => id ?? error.code)).toEqual(['init', 1, -32700]);
    // There was something to say, and it was said elsewhere.
    expect(client.program.stderr).toContain('a complaint of the backend');
    expect(client.program.stderr).toContain('no protocol at all');
    expect(client.program.stderr).toContain('disabled');
  });
});

describe('the first message', verifies('gateway:stdio:era-by-first-message'), () => {
  it('is modern, and so is the client', async () => {
    const client = behind(await modernBackend(complete));
    const answer = await client.ask(modernly(1, 'tools/call', { name: 'work', arguments: { n: 1 } }));
    expect(answer).toEqual(result(1, { resultType: 'complete', ...text('{"n":1}') }));
    // From now on what does not say its era is modern: a request lacks something, a notification needs no session.
    client.say(notification('notifications/roots/list_changed'));
    const told = {
      code: -32602,
      message: '_meta must have io.modelcontextprotocol/protocolVersion',
      reason: 'missing_meta',
      id: 2,
    };
    expect(await client.ask(call(2))).toEqual(refusal(told));
    expect(client.heard).toHaveLength(2);
  });

  it('is `initialize`, and the client is legacy', async () => {
    const backend = await legacyBackend(echo);
    const client = behind(backend);
    const { result: session } = await client.ask(initialize({ revision: '2025-06-18' }));
    expect(session.protocolVersion).toBe('2025-06-18');
    client.say(notification('notifications/initialized'));
    expect(await client.ask(call(1, { n: 1 }))).toEqual(result(1, text('{"n":1}')));
    expect(await client.ask(request(2, 'ping'))).toEqual(result(2, {}));
    expect(await client.ask({ ...initialize(), id: 3 })).toMatchObject({ id: 3, error: { code: -32600 } });
    expect(backend.of('initialize').at(-1)?.message.params.protocolVersion).toBe('2025-06-18');
  });

  it('is neither, and the session that it needs is not there', async () => {
    const backend = await legacyBackend(echo);
    const client = behind(backend);
    const told = { code: -32600, message: 'Not initialized', reason: 'session_required', id: 1 };
    expect(await client.ask(call(1))).toEqual(refusal(told));
    // Nothing answers what is no request.
    client.say(notification('notifications/roots/list_changed'));
    client.say(result('unasked', {}));
    await agreed(client);
    expect(await client.ask(call(2))).toEqual(result(2, text('{}')));
    expect(client.heard.map(({ id }) => id)).toEqual([1, 'init', 2]);
  });
});

describe('`server/discover`', verifies('gateway:stdio:discover-first'), () => {
  it.each(eras)('is answered first, and the client of a %s backend may still choose', async (era) => {
    const client = behind(await (era === 'legacy' ? legacyBackend(echo) : modernBackend(complete)));
    const { result: discovered } = await client.ask(modernly('probe', 'server/discover'));
    expect(discovered).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2024-11-05'],
    });
    const { result: session } = await client.ask(initialize());
    expect(session.protocolVersion).toBe('2025-11-25');
    client.say(notification('notifications/initialized'));
    expect(await client.ask(call(1, { n: 1 }))).toEqual(result(1, text('{"n":1}')));
  });

  it('that names an unsupported revision gets an error in the form of the modern era', async () => {
    const client = behind(await modernBackend(complete));
    const meta = modernMeta({}, { 'io.modelcontextprotocol/protocolVersion': '1900-01-01' });
    expect(await client.ask(request('probe', 'server/discover', { _meta: meta }))).toMatchObject({
      id: 'probe',
      error: { code: -32022, data: { supported: expect.arrayContaining(['2026-07-28']), requested: '1900-01-01' } },
    });
  });
});

describe('invalid input', () => {
  it(
    'an unreadable line is answered without an id, and the next is served',
    verifies('gateway:stdio:unreadable-line'),
    async () => {
      const client = behind(await modernBackend(complete), { limits: { bodyBytes: 4096 } });
      const parse = (offset: number) =>
        refusal({ code: -32700, message: 'Parse error', reason: 'parse_error', data: { offset } });
      client.say('hello');
      client.say('{"jsonrpc":"2.0","id":1,"method":"tools/call"');
      client.program.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]));
      client.say('');
      client.say(`"${'x'.repeat(5000)}"`);
      await client.ask(modernly(1, 'tools/call', { name: 'work' }));
      expect(client.heard).toEqual([
        parse(0),
        parse(45),
        parse(1),
        refusal({ code: -32600, message: 'A line of more than 4096 bytes', reason: 'body_too_large' }),
        expect.objectContaining({ id: 1, result: expect.anything() }),
      ]);
      expect(client.lines.slice(0, 4).some((line) => line.includes('"id"'))).toBe(false);
    },
  );

  it(
    'an array is rejected without being read, and the next line is served',
    verifies('gateway:stdio:batch-refused'),
    async () => {
      const backend = await legacyBackend(echo);
      const client = behind(backend);
      client.say([initialize()]);
      client.say('[{"not JSON');
      await agreed(client);
      client.say([call(1), call(2)]);
      expect(await client.ask(call(3))).toEqual(result(3, text('{}')));
      const refused = refusal(batchRefused);
      expect(client.heard).toEqual([
        refused,
        refused,
        expect.objectContaining({ id: 'init' }),
        refused,
        result(3, text('{}')),
      ]);
      expect(backend.of('tools/call')).toHaveLength(1);
    },
  );
});

describe('`notifications/cancelled`', verifies('gateway:stdio:cancelled'), () => {
  const clients = eras.flatMap((client) => eras.map((backend) => ({ client, backend })));

  it.each(clients)('cancels for a $client client at a $backend backend', async ({ client: era, backend: other }) => {
    const held = new Held();
    const script = { 'tools/call': held.take };
    const backend = await (other === 'legacy' ? legacyBackend(script) : modernBackend(script));
    const client = behind(backend);
    if (era === 'legacy') await agreed(client);
    const work = { name: 'work', arguments: {} };
    const said = (id: number | string) =>
      era === 'legacy' ? request(id, 'tools/call', work) : modernly(id, 'tools/call', work);
    client.say(said(0));
    client.say(said('0'));
    const [first, second] = [await held.nth(1), await held.nth(2)];
    client.say(cancelled(0, 'changed my mind'));
    if (other === 'legacy') {
      const { message } = await backend.arrival('notifications/cancelled');
      expect(message.params).toEqual({ requestId: first.message.id, reason: 'changed my mind' });
    } else await first.closed;
    second.result({ ...(other === 'modern' && { resultType: 'complete' }), ...text('done') });
    const { result: done } = await client.message(({ id }) => id === '0');
    expect(done).toMatchObject(text('done'));
    // It names nothing any more, and nothing is said of that.
    client.say(cancelled(0));
    client.say(cancelled('nobody'));
    client.program.endInput();
    await client.program.end();
    expect(client.heard.map(({ id }) => id)).toEqual(era === 'legacy' ? ['init', '0'] : ['0']);
  });
});

describe('the end of stdin', verifies('gateway:stdio:stdin-closed'), () => {
  it('cancels calls, ends the children, and then the process', async () => {
    const working = await legacyProcess({ 'tools/call': () => undefined });
    const client = new StdioClient(configFile({ backends: { b: { command: working.command, args: working.args } } }));
    await agreed(client);
    client.say(call(1));
    const turn = await working.arrival('tools/call');
    client.program.endInput();
    const exit = await client.program.end();
    expect(exit).toEqual({ code: 0, signal: null });
    const { message } = await working.arrival('notifications/cancelled');
    expect(message.params.requestId).toBe(turn.message.id);
    expect(turn.process.told[0]).toBe('end');
    for (const { pid } of working.processes) expect(isRunning(pid)).toBe(false);
    // Whoever may still read is not left without an answer.
    expect(client.heard.at(-1)).toMatchObject({ id: 1, error: { data: { reason: 'session_ended' } } });
  });

  it('cancels calls at HTTP backends', async () => {
    const held = new Held();
    const client = behind(await modernBackend({ 'tools/call': held.take }));
    client.say(modernly(1, 'tools/call', { name: 'work' }));
    const turn = await held.nth(1);
    client.program.endInput();
    await turn.closed;
    expect(await client.program.end()).toEqual({ code: 0, signal: null });
  });
});

describe('a subscription', verifies('gateway:stdio:listen-teardown'), () => {
  it.each([1, 'x'])('that the gateway ends is cancelled by its id %j, and gets its result', async (id) => {
    const backend = await modernBackend({
      'subscriptions/listen': (turn) => {
        const params = {
          notifications: { toolsListChanged: true },
          _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id },
        };
        turn.stream().event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params });
      },
    });
    const client = behind(backend);
    client.say(modernly(id, 'subscriptions/listen', { notifications: { toolsListChanged: true } }));
    await client.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
    client.program.kill('SIGTERM');
    expect(await client.program.end()).toEqual({ code: 0, signal: null });
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
    expect(client.heard.slice(1)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, _meta } },
      result(id, { resultType: 'complete', _meta }),
    ]);
    await until(() => !isRunning(client.program.pid), 'the process is gone');
  });
});
