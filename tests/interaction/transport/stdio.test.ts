/** stdio on both sides: `bascule stdio` in front of a backend that it starts itself. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { isRunning } from '../../upstream/support/processes.ts';
import { call, notification, request, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { eras, initialize, modern } from '../harness/eras.ts';
import { legacyBackend } from '../harness/http-backend.ts';
import { configFile, StdioClient } from '../harness/program.ts';
import { legacyProcess, modernProcess, type StdioBackend } from '../harness/stdio-backend.ts';

function before({ command, args }: StdioBackend): StdioClient {
  // What a backend writes on stderr is logged for those who look for it.
  return new StdioClient(configFile({ backends: { b: { command, args } } }), ['--log-level', 'debug']);
}

/** A client that has agreed on a session. */
async function connect(client: StdioClient, capabilities: object = {}): Promise<StdioClient> {
  expect((await client.ask(initialize({ capabilities }))).result.serverInfo).toEqual({ name: 'legacy', version: '1' });
  client.say(notification('notifications/initialized'));
  return client;
}

describe('a stdio client and a stdio backend', verifies('transport:stdio'), () => {
  it('exchange requests, notifications and answers both ways, legacy', async () => {
    const backend = await legacyProcess({
      'tools/call': (turn) => {
        const { progressToken } = turn.message.params._meta;
        turn.notify('notifications/progress', { progressToken, progress: 1 });
        turn.process.say(request('q', 'roots/list'));
      },
      response: (turn) => {
        const { process } = turn;
        process.say(notification('notifications/tools/list_changed'));
        process.say(result(backend.of('tools/call')[0]?.message.id, text(JSON.stringify(turn.message.result))));
      },
    });
    const client = await connect(before(backend), { roots: {} });
    client.say(call(1, {}, { progressToken: 0 }));
    const ask = await client.message(({ method }) => method === 'roots/list');
    client.say(result(ask.id, { roots: [] }));
    await client.message(({ id, result: given }) => id === 1 && given?.content !== undefined);
    expect(client.heard.slice(1)).toEqual([
      notification('notifications/progress', { progressToken: 0, progress: 1 }),
      ask,
      notification('notifications/tools/list_changed'),
      result(1, text('{"roots":[]}')),
    ]);
    client.say(notification('notifications/roots/list_changed'));
    await backend.arrival('notifications/roots/list_changed');
    client.program.endInput();
    expect(await client.program.end()).toEqual({ code: 0, signal: null });
    for (const { pid } of backend.processes) expect(isRunning(pid)).toBe(false);
  });

  it('exchange requests and notifications, modern', async () => {
    const backend = await modernProcess({
      'prompts/get': (turn) => {
        const { progressToken } = turn.message.params._meta;
        turn.notify('notifications/progress', { progressToken, progress: 1 });
        turn.result({ resultType: 'complete', messages: [] });
      },
    });
    const client = before(backend);
    const { body } = modern({ id: 1, method: 'prompts/get', params: { name: 'p' }, meta: { progressToken: 'mine' } });
    await client.ask(body);
    expect(client.heard).toEqual([
      notification('notifications/progress', { progressToken: 'mine', progress: 1 }),
      result(1, { resultType: 'complete', messages: [] }),
    ]);
    client.program.endInput();
    expect(await client.program.end()).toEqual({ code: 0, signal: null });
    await until(() => backend.processes.every(({ gone }) => gone), 'the backend is gone');
    expect(backend.processes.map(({ told }) => told)).toEqual([['end']]);
  });
});

describe('stdout', () => {
  it.each(eras)(
    'contains only messages, one on each line, %s',
    verifies('transport:stdio:stream-purity', 'transport:stdio:no-embedded-newlines'),
    async (era) => {
      const launch = era === 'legacy' ? legacyProcess : modernProcess;
      const done = { ...(era === 'modern' && { resultType: 'complete' }), ...text('a\nb') };
      const backend = await launch({
        'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
        'tools/call': (turn) => {
          turn.process.print('a greeting on the wrong stream\n');
          turn.process.complain('and a complaint\n');
          turn.result(done);
        },
      });
      const client = before(backend);
      if (era === 'legacy') await connect(client);
      const message =
        era === 'legacy'
          ? call(1)
          : modern({ id: 1, method: 'tools/call', params: { name: 'work', arguments: {} } }).body;
      expect(await client.ask(message)).toEqual(result(1, done));
      await until(() => client.program.stderr.includes('and a complaint'), 'the complaint is in the log');
      client.program.endInput();
      await client.program.end();
      expect(client.program.stdout.endsWith('\n')).toBe(true);
      expect(client.heard.map(({ jsonrpc, id }) => ({ jsonrpc, id }))).toEqual(
        (era === 'legacy' ? ['init', 1] : [1]).map((id) => ({ jsonrpc: '2.0', id })),
      );
    },
  );

  it(
    'a message that an HTTP backend formatted over several lines is one line',
    verifies('transport:stdio:no-embedded-newlines'),
    async () => {
      const backend = await legacyBackend({
        'tools/call': (turn) => {
          const { id } = turn.message;
          const pretty = (message: object) => JSON.stringify(message, null, 2);
          const lines = (message: object) =>
            pretty(message)
              .split('\n')
              .map((line) => `data: ${line}\n`)
              .join('');
          const said = notification('notifications/message', { level: 'info', data: 'x' });
          turn
            .stream()
            .bytes(`${lines(said)}\n${lines(result(id, text('a\nb')))}\n`)
            .end();
        },
        'prompts/list': (turn) => turn.json(JSON.stringify(result(turn.message.id, { prompts: [] }), null, '\t')),
      });
      const client = await connect(new StdioClient(configFile({ backends: { b: { url: backend.url } } })));
      await client.ask(call(1));
      await client.ask(request(2, 'prompts/list'));
      expect(client.lines.slice(1).map((line) => JSON.parse(line))).toEqual([
        notification('notifications/message', { level: 'info', data: 'x' }),
        result(1, text('a\nb')),
        result(2, { prompts: [] }),
      ]);
      for (const line of client.lines) expect(line).not.toMatch(/[\r\n]/);
    },
  );
});
