/** `share: true`: one legacy process for several clients, who do not see of each other what is not theirs. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, notification, request, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';
import { legacyProcess, type StdioBackend, type StdioScript } from '../harness/stdio-backend.ts';
import { messagesOf, startBeforeProcess } from './setup.ts';

const updated = (uri: string) => notification('notifications/resources/updated', { uri });

async function start(script: StdioScript): Promise<{ backend: StdioBackend; clients: LegacyClient[] }> {
  const backend = await legacyProcess(script);
  const gateway = await startBeforeProcess(backend, { backend: { share: true } });
  const clients = [await connectLegacy(gateway.url('b')), await connectLegacy(gateway.url('b'))];
  return { backend, clients };
}

describe('a shared process', verifies('gateway:backend:shared-process'), () => {
  it('is one, initialized once; ids and progress of its clients are kept apart', async () => {
    const { backend, clients } = await start({ 'tools/call': () => undefined });
    // The same id and the same token at the same time.
    const meta = { progressToken: 't' };
    const answers = await Promise.all(
      clients
        .map((client, at) => client.post(call(1, { at }, meta)))
        .map(async (answer, at) => {
          await backend.arrival('tools/call', at + 1);
          if (at === 1) {
            const turns = backend.of('tools/call');
            expect(new Set(turns.map(({ message }) => message.id)).size).toBe(2);
            for (const turn of [...turns].reverse()) {
              const { at: whose } = turn.message.params.arguments;
              const { progressToken } = turn.message.params._meta;
              turn.notify('notifications/progress', { progressToken, progress: whose + 10 });
              turn.result(text(`for ${whose}`));
            }
          }
          return answer;
        }),
    );
    for (const [at, answer] of answers.entries()) {
      expect(messagesOf(answer)).toEqual([
        notification('notifications/progress', { progressToken: 't', progress: at + 10 }),
        result(1, text(`for ${at}`)),
      ]);
    }
    const [turn, other] = backend.of('tools/call');
    expect(turn?.process).toBe(other?.process);
    // One of them found out what the backend is, in a process of its own.
    expect(backend.of('initialize')).toHaveLength(2);
    expect(backend.of('notifications/initialized')).toHaveLength(1);
  });

  it('notifies each client of its own subscriptions, and all of list changes', async () => {
    const { backend, clients } = await start({
      'resources/subscribe': (turn) => turn.result({}),
      'resources/unsubscribe': (turn) => turn.result({}),
    });
    const subscribe = async (client: LegacyClient | undefined, verb: string, uri: string) => {
      expect((await client?.post(request(uri, `resources/${verb}`, { uri })))?.json()).toEqual(result(uri, {}));
    };
    const [a, b] = clients;
    await subscribe(a, 'subscribe', 'note://a');
    await subscribe(a, 'subscribe', 'note://both');
    await subscribe(b, 'subscribe', 'note://both');
    await subscribe(b, 'subscribe', 'note://b');
    const streams = await Promise.all(clients.map((client) => client.listen()));
    const heard = async (end: string) =>
      Promise.all(
        streams.map(async (stream) => {
          await stream.message(({ params }) => params?._meta?.end === end);
          return stream.events
            .filter(({ data }) => data)
            .map((event) => event.json().params?.uri)
            .filter(Boolean);
        }),
      );
    const { process } = await backend.arrival('notifications/initialized');
    const changed = (end: string) =>
      process.say(notification('notifications/resources/list_changed', { _meta: { end } }));
    for (const uri of ['note://a', 'note://b', 'note://both']) process.say(updated(uri));
    changed('first');
    expect(await heard('first')).toEqual([
      ['note://a', 'note://both'],
      ['note://b', 'note://both'],
    ]);
    // One takes its subscription back: the other keeps its own.
    await subscribe(a, 'unsubscribe', 'note://both');
    expect(backend.of('resources/unsubscribe')).toHaveLength(0);
    process.say(updated('note://both'));
    changed('second');
    expect(await heard('second')).toEqual([
      ['note://a', 'note://both'],
      ['note://b', 'note://both', 'note://both'],
    ]);
    // The last one does so with its session, too.
    await b?.end();
    await backend.arrival('resources/unsubscribe', 2);
    const given = backend.of('resources/unsubscribe').map(({ message }) => message.params.uri);
    expect(new Set(given)).toEqual(new Set(['note://b', 'note://both']));
  });

  it('continues when one of its clients disconnects', async () => {
    const { backend, clients } = await start({ 'tools/call': (turn) => turn.result(text('done')) });
    await clients[0]?.end();
    expect((await clients[1]?.post(call(1)))?.json()).toEqual(result(1, text('done')));
    const { process } = await backend.arrival('tools/call');
    expect(process.told).toEqual([]);
    await until(() => backend.processes.filter(({ gone }) => !gone).length === 1, 'only the shared one is left');
  });
});
