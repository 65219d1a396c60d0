/** Many clients that all use the same ids and tokens, at the same backend, at the same time. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, messagesOf, notification, result, text } from '../harness/behind.ts';
import { type Answer, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { legacyProcess, modernProcess, type StdioTurn } from '../harness/stdio-backend.ts';

/** More than the gateway keeps sessions of its own for, so that they must be shared where that is possible. */
const CLIENTS = 72;
const ids = Array.from({ length: CLIENTS }, (_, index) => index);

/** One call that waits until all of them are there. */
interface Waiting {
  readonly who: number;
  readonly answer: () => void;
}

function overHttp(waiting: Waiting[]) {
  return (turn: Turn): void => {
    const { id, params } = turn.message;
    const { who } = params.arguments;
    const token = params._meta.progressToken;
    const say = (progress: number) =>
      notification('notifications/progress', { progressToken: token, progress, message: `${who}` });
    turn.stream().event(say(1));
    const answer = () =>
      turn
        .event(say(2))
        .event(result(id, { resultType: 'complete', ...text(`${who}`) }))
        .end();
    waiting.push({ who, answer });
  };
}

function overPipe(waiting: Waiting[]) {
  return (turn: StdioTurn): void => {
    const { params } = turn.message;
    const { who } = params.arguments;
    const say = (progress: number) =>
      turn.notify('notifications/progress', { progressToken: params._meta.progressToken, progress, message: `${who}` });
    say(1);
    waiting.push({
      who,
      answer: () => {
        say(2);
        turn.result({ resultType: 'complete', ...text(`${who}`) });
      },
    });
  };
}

/** An order that is neither that of their coming nor its reverse. */
const shuffled = (all: readonly Waiting[]) =>
  [...all].sort((a, b) => ((a.who * 17) % CLIENTS) - ((b.who * 17) % CLIENTS));

/** Even ones are legacy clients with a session each, odd ones modern. */
async function callAs(url: string, who: number): Promise<Answer> {
  if (who % 2 === 0) {
    const client = await connectLegacy(url);
    return client.post(call(1, { who }, { progressToken: 1 }));
  }
  const params = { name: 'work', arguments: { who } };
  return send(url, modern({ id: 1, method: 'tools/call', params, meta: { progressToken: 1 } }));
}

const backends = [
  {
    name: 'a modern backend',
    config: async (waiting: Waiting[]) => ({ url: (await modernBackend({ 'tools/call': overHttp(waiting) })).url }),
  },
  {
    name: 'a legacy backend',
    config: async (waiting: Waiting[]) => ({ url: (await legacyBackend({ 'tools/call': overHttp(waiting) })).url }),
  },
  {
    name: 'the one pipe of a modern process',
    config: async (waiting: Waiting[]) => {
      const { command, args } = await modernProcess({ 'tools/call': overPipe(waiting) });
      return { command, args };
    },
  },
  {
    name: 'a shared legacy process',
    config: async (waiting: Waiting[]) => {
      const { command, args } = await legacyProcess({ 'tools/call': overPipe(waiting) });
      return { command, args, share: true };
    },
  },
];

describe('clients that use the same ids and tokens', verifies('gateway:exchange:no-cross-wiring'), () => {
  it.each(backends)('get their own answers and progress at $name', async ({ config }) => {
    const waiting: Waiting[] = [];
    const gateway = await startGateway({ backends: { b: await config(waiting) } });
    const answers = ids.map((who) => callAs(gateway.url('b'), who));
    await until(() => waiting.length === CLIENTS, 'all calls are under way at once');
    for (const { answer } of shuffled(waiting)) answer();
    for (const [who, pending] of answers.entries()) {
      const messages = messagesOf(await pending);
      const mine = (progress: number) =>
        notification('notifications/progress', { progressToken: 1, progress, message: `${who}` });
      expect(messages).toMatchObject([mine(1), mine(2), { jsonrpc: '2.0', id: 1, result: text(`${who}`) }]);
    }
  });
});
