/**
 * Progress goes to who asked for it.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress#behavior-requirements
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  type Behind,
  behindLegacy,
  behindModern,
  call,
  Held,
  messagesOf,
  notification,
  result,
  text,
} from '../harness/behind.ts';
import { type Json, type OpenAnswer, open } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Script } from '../harness/http-backend.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';

const progress = (progressToken: unknown, step: number) =>
  notification('notifications/progress', { progressToken, progress: step });

/** A call of either era, as a stream. */
type Start = (url: string, meta: object) => Promise<OpenAnswer>;
const clients: readonly { client: string; start: Start }[] = [
  { client: 'legacy', start: async (url, meta) => (await connectLegacy(url)).stream(call('c', {}, meta)) },
  {
    client: 'modern',
    start: (url, meta) => open(url, modern({ id: 'c', method: 'tools/call', params: { name: 'work' }, meta })),
  },
];
const backends: readonly { backend: string; behind: (script: Script) => Promise<Behind> }[] = [
  { backend: 'legacy', behind: behindLegacy },
  { backend: 'modern', behind: behindModern },
];
const pairs = clients.flatMap((client) => backends.map((backend) => ({ ...client, ...backend })));
const done = { resultType: 'complete', ...text('done') };
const dataOf = (stream: OpenAnswer): Json[] =>
  stream.headers['content-type'] === 'text/event-stream' ? messagesOf(stream) : [JSON.parse(stream.text())];

describe.each(pairs)(
  'progress of a $backend backend for a $client client',
  verifies('gateway:exchange:progress-own-token'),
  ({ start, behind }) => {
    it('comes under the token of the client, in order, before the result', async () => {
      const { url } = await behind({
        'tools/call': (turn) => {
          turn.stream();
          for (const step of [1, 2.5, 100]) turn.event(progress(turn.message.id, step));
          turn.event(result(turn.message.id, done)).end();
        },
      });
      const stream = await start(url, { progressToken: 'mine' });
      await stream.ended;
      expect(messagesOf(stream)).toEqual([
        progress('mine', 1),
        progress('mine', 2.5),
        progress('mine', 100),
        { jsonrpc: '2.0', id: 'c', result: expect.objectContaining(text('done')) },
      ]);
    });

    it.each([
      { name: 'with an unknown token', token: (id: string) => id, meta: {} },
      { name: 'of another request', token: (id: string) => `${id}x`, meta: { progressToken: 'mine' } },
      { name: 'in another type', token: () => 1, meta: { progressToken: 'mine' } },
      { name: 'of the client, which only the gateway knows', token: () => 'mine', meta: { progressToken: 'mine' } },
      { name: 'with an invalid token', token: () => undefined, meta: { progressToken: 'mine' } },
    ])('is dropped under a token $name', async ({ token, meta }) => {
      const { url } = await behind({
        'tools/call': (turn) => {
          turn
            .stream()
            .event(progress(token(turn.message.id), 1))
            .event(result(turn.message.id, done))
            .end();
        },
      });
      const stream = await start(url, meta);
      await stream.ended;
      expect(dataOf(stream)).toMatchObject([{ id: 'c', result: text('done') }]);
    });

    it('is dropped when the request is over', async () => {
      const { url } = await behind({
        'tools/call': (turn) => {
          turn.stream().event(progress(turn.message.id, 1)).event(result(turn.message.id, done));
          turn.event(progress(turn.message.id, 2)).end();
        },
      });
      const stream = await start(url, { progressToken: 'mine' });
      await stream.ended;
      expect(dataOf(stream)).toEqual([
        progress('mine', 1),
        { jsonrpc: '2.0', id: 'c', result: expect.objectContaining(text('done')) },
      ]);
    });
  },
);

describe(
  'progress that does not come on the stream of its request',
  verifies('gateway:exchange:progress-own-token'),
  () => {
    it('finds its request by its token on the standalone stream of a legacy backend', async () => {
      const held = new Held();
      const { url, backend } = await behindLegacy({ 'tools/call': held.take });
      const client = await connectLegacy(url);
      const listening = await client.listen();
      const standing = await backend.standing();
      const opening = client.stream(call('c', {}, { progressToken: 'mine' }));
      const turn = await held.nth(1);
      standing.event(progress(turn.message.id, 1));
      const stream = await opening;
      await stream.message(({ method }) => method === 'notifications/progress');
      turn.result(text('done'));
      await stream.ended;
      expect(messagesOf(stream)).toEqual([progress('mine', 1), result('c', text('done'))]);
      expect(messagesOf(listening)).toEqual([]);
    });

    it.each([
      { era: 'modern', process: modernProcess },
      { era: 'legacy', process: legacyProcess },
    ])('finds its request by its token on the one pipe of a $era process', async ({ process }) => {
      const backend = await process({ 'tools/call': () => undefined });
      const { command, args } = backend;
      const gateway = await startGateway({ backends: { b: { command, args, share: true } } });
      const start = (name: string) =>
        open(
          gateway.url('b'),
          modern({ id: name, method: 'tools/call', params: { name }, meta: { progressToken: 't' } }),
        );
      const opening = { first: start('first'), second: start('second') };
      await backend.arrival('tools/call', 2);
      for (const { message, process: one } of backend.of('tools/call')) {
        const step = message.params.name === 'first' ? 1 : 2;
        one.say(progress(message.params._meta.progressToken, step));
      }
      for (const turn of [...backend.of('tools/call')].reverse())
        turn.result({ resultType: 'complete', ...text(turn.message.params.name) });
      for (const [name, step] of Object.entries({ first: 1, second: 2 })) {
        const stream = await opening[name as keyof typeof opening];
        await stream.ended;
        expect(messagesOf(stream)).toMatchObject([progress('t', step), { id: name, result: text(name) }]);
      }
    });
  },
);
