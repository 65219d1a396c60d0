/** What stdio backends write: messages, noise, complaints, and far too much. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, notification, refusal, request, result, text } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import type { TestGateway } from '../harness/gateway.ts';
import { legacyProcess, modernProcess, type StdioScript } from '../harness/stdio-backend.ts';
import { answered, caller, count, startBeforeProcess, tooLarge } from './setup.ts';

const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const processOf = { legacy: legacyProcess, modern: modernProcess };
/** What the backend wrote on stderr. */
const complaints = ({ log }: TestGateway) =>
  log.filter(({ level, facts }) => level === 'debug' && Object.keys(facts).join() === 'backend');

describe.each(eras)('a %s process', (era) => {
  const done = { ...(era === 'modern' && { resultType: 'complete' }), ...text('done') };
  const start = async (script: StdioScript, limits: Readonly<Record<string, number>> = {}) => {
    const tools = { ...(era === 'modern' && { resultType: 'complete' }), tools: [] };
    const backend = await processOf[era]({ 'tools/list': (turn) => turn.result(tools), ...script });
    const gateway = await startBeforeProcess(backend, { limits });
    return { backend, gateway, client: await caller(era, gateway.url('b')) };
  };

  it(
    'with noise on stdout is understood, and the noise is counted and logged',
    verifies('gateway:backend:stdout-noise'),
    async () => {
      const noise = ['Server listening...', '{"level":"info","msg":"started"}', '[1,2', '\u0000\u0001', '"text"'];
      const { gateway, client } = await start({
        'tools/call': ({ process, message }) => {
          for (const line of noise) process.print(`${line}\n`);
          process.print(`\n\r\n${JSON.stringify(result(message.id, done))}\r\n`);
        },
      });
      expect(answered(await client.ask(1))).toEqual(result(1, done));
      expect(count(gateway, 'backend.noise.stdout')).toBe(noise.length);
      const shown = gateway.log.filter(({ facts }) => facts.kind === 'stdout');
      expect(shown.map(({ facts }) => facts.text)).toEqual(noise);
      // The first is where everybody looks; a chatty one does not fill that.
      expect(shown.map(({ level }) => level)).toEqual(['warn', ...noise.slice(1).map(() => 'debug')]);
    },
  );

  it.each([
    { name: 'nested 100,000 deep', answer: (id: string) => `{"jsonrpc":"2.0","id":${id},"result":{"a":${deep}}}` },
    {
      name: 'nested 100,000 deep before its id',
      answer: (id: string) => `{"jsonrpc":"2.0","result":{"a":${deep}},"id":${id}}`,
    },
    { name: 'without a result', answer: (id: string) => `{"jsonrpc":"2.0","id":${id}}` },
    { name: 'one with a number as its result', answer: (id: string) => `{"jsonrpc":"2.0","id":${id},"result":5}` },
  ])(
    'whose response is $name fails that call immediately, and no other',
    verifies('gateway:backend:stdout-noise'),
    async ({ answer }) => {
      const { backend, client } = await start({ 'tools/call': () => undefined });
      const [first, second] = [client.ask(1), client.ask(2)];
      await backend.arrival('tools/call', 2);
      const turns = backend.of('tools/call');
      turns[0]?.process.print(`${answer(JSON.stringify(turns[0].message.id))}\n`);
      const failed = await Promise.race([first, second]);
      expect(answered(failed).error).toMatchObject({ code: -32603, data: { reason: 'backend_invalid' } });
      turns[1]?.result(done);
      const answers = [answered(await first), answered(await second)];
      expect(answers.filter((one) => one.result !== undefined)).toHaveLength(1);
    },
  );

  it(
    'whose responses are unknown or duplicate is read once',
    verifies('gateway:backend:unknown-response', 'gateway:backend:duplicate-response'),
    async () => {
      const { gateway, client } = await start({
        'tools/call': (turn) => {
          turn.process.say(result(999, text('stray')));
          turn.process.say(result(`${turn.message.id}x`, text('stray')));
          turn.process.say({ jsonrpc: '2.0', error: { code: -32700, message: 'stray' } });
          turn.result(done);
          turn.result(text('again'));
        },
      });
      const first = await client.ask(1);
      expect(answered(first)).toEqual(result(1, done));
      expect(answered(await client.ask(1))).toEqual(result(1, done));
      await until(() => count(gateway, 'backend.noise.unknown_id') === 8, 'four strays of each call were counted');
    },
  );

  it(
    'whose response is over the limit fails that call, and continues',
    verifies('gateway:backend:oversized-event'),
    async () => {
      const { backend, client } = await start(
        {
          'tools/call': (turn) => {
            const { fill } = turn.message.params.arguments;
            turn.result({ ...done, fill: 'x'.repeat(fill) });
          },
        },
        { lineBytes: 8 * 1024 },
      );
      const sized = (fill: number) => ({ name: 'work', arguments: { fill } });
      expect(answered(await client.ask(1, 'tools/call', sized(100_000)))).toEqual(
        refusal({ ...tooLarge, message: 'A line of more than 8192 bytes', id: 1 }),
      );
      expect(answered(await client.ask(2, 'tools/call', sized(10)))).toEqual(
        result(2, { ...done, fill: 'x'.repeat(10) }),
      );
      const serving = new Set(backend.of('tools/call').map(({ process }) => process));
      expect(serving.size).toBe(1);
    },
  );

  it(
    'whose characters are split between two writes is understood',
    verifies('gateway:backend:split-utf8'),
    async () => {
      const words = { ...done, ...text('aé€😀') };
      const { client } = await start({
        'tools/call': ({ process, message }) => {
          for (const byte of Buffer.from(`${JSON.stringify(result(message.id, words))}\n`))
            process.print(Uint8Array.of(byte));
        },
      });
      expect(answered(await client.ask(1))).toEqual(result(1, words));
    },
  );

  it(
    'that writes to stderr is logged line by line, and nowhere else',
    verifies('transport:stdio:stderr-passthrough', 'gateway:backend:stderr-limited'),
    async () => {
      const { gateway, client } = await start({
        'tools/call': (turn) => {
          turn.process.complain('a warning\nand ');
          turn.process.complain('another one\n');
          turn.result(done);
        },
      });
      const answer = await client.ask(1);
      expect(answered(answer)).toEqual(result(1, done));
      await until(() => complaints(gateway).length === 2, 'both lines are in the log');
      expect(complaints(gateway)).toEqual([
        { level: 'debug', facts: { backend: 'b' }, text: 'a warning' },
        { level: 'debug', facts: { backend: 'b' }, text: 'and another one' },
      ]);
    },
  );

  it(
    'that writes to stderr without end is logged up to a limit',
    verifies('gateway:backend:stderr-limited', 'transport:stdio:stderr-passthrough'),
    async () => {
      const stderrBytes = 1024;
      const line = 'one more complaint of very many';
      const { backend, gateway, client } = await start(
        { 'tools/call': (turn) => turn.process.complain(`${line}\n`.repeat(5_000)) },
        { stderrBytes },
      );
      const waiting = client.ask(1);
      const turn = await backend.arrival('tools/call');
      await until(() => complaints(gateway).length > 0, 'something is in the log');
      turn.result(done);
      await waiting;
      turn.process.exit(0);
      await until(
        () => complaints(gateway).some(({ text: said }) => said.endsWith('left out)')),
        'the rest was counted',
      );
      const said = complaints(gateway).map((entry) => entry.text);
      expect(said.filter((one) => one === line)).toHaveLength(Math.floor(stderrBytes / line.length));
      expect(said.at(-1)).toBe(`(${5_000 - Math.floor(stderrBytes / line.length)} more lines left out)`);
    },
  );
});

describe('stdin of a backend', () => {
  it(
    'contains only messages, one on each line, however the client formatted them',
    verifies('transport:stdio:stream-purity', 'transport:stdio:no-embedded-newlines'),
    async () => {
      const backend = await legacyProcess({ 'tools/call': (turn) => turn.result(text('done')) });
      const gateway = await startBeforeProcess(backend);
      const client = await connectLegacy(gateway.url('b'));
      const args = { text: 'a\nb\r\nc\u2028d', list: [1, { deep: '\n' }] };
      const pretty = JSON.stringify(call(1, args), null, 2).replaceAll('\n', '\r\n');
      expect((await client.post(pretty)).json()).toEqual(result(1, text('done')));
      await client.post(
        JSON.stringify(notification('notifications/roots/list_changed', { _meta: { a: 1 } }), null, '\t'),
      );
      await backend.arrival('notifications/roots/list_changed');
      const { process, message } = await backend.arrival('tools/call');
      expect(message.params.arguments).toEqual(args);
      const lines = process.input.split('\n');
      expect(lines.pop()).toBe('');
      expect(lines.map((line) => JSON.parse(line).method)).toEqual([
        'initialize',
        'notifications/initialized',
        'tools/call',
        'notifications/roots/list_changed',
      ]);
      for (const line of lines) expect(line).toMatch(/^\{"?[^\r]*\}$/);
    },
  );

  it(
    'contains only messages, also for a modern backend',
    verifies('transport:stdio:stream-purity', 'transport:stdio:no-embedded-newlines'),
    async () => {
      const backend = await modernProcess({
        'prompts/get': (turn) => turn.result({ resultType: 'complete', messages: [] }),
      });
      const gateway = await startBeforeProcess(backend);
      const { body, headers } = modern({
        id: 1,
        method: 'prompts/get',
        params: { name: 'p', arguments: { a: 'x\ny' } },
      });
      const answer = await send(gateway.url('b'), { body: JSON.stringify(body, null, 4), headers: headers ?? {} });
      expect(answer.json()).toMatchObject({ id: 1, result: { messages: [] } });
      const [{ input = '' } = {}] = backend.processes;
      expect(input.split('\n').map((line) => (line === '' ? '' : JSON.parse(line).method))).toEqual([
        'server/discover',
        'prompts/get',
        '',
      ]);
    },
  );
});

describe('a request of a backend', verifies('transport:stdio:stream-purity'), () => {
  it('for something that there is not is answered on its stdin, too', async () => {
    const backend = await legacyProcess({
      'tools/call': (turn) => {
        turn.process.say(request('q1', 'ping'));
        turn.process.say(request('q2', 'made/up'));
      },
      response: (turn) => {
        if (turn.message.id === 'q2') turn.process.say(result(backend.of('tools/call')[0]?.message.id, text('done')));
      },
    });
    const gateway = await startBeforeProcess(backend);
    const client = await connectLegacy(gateway.url('b'));
    expect(answered(await client.post(call(1)))).toEqual(result(1, text('done')));
    const { process } = await backend.arrival('tools/call');
    expect(process.received.filter(({ method }) => method === undefined)).toEqual([
      result('q1', {}),
      { jsonrpc: '2.0', id: 'q2', error: { code: -32601, message: 'Method not found' } },
    ]);
  });
});
