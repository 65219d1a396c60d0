/** What clients do, each thing from its beginning to an end of one kind or another. */
import { connect } from 'node:net';
import { call, request, text } from '../harness/behind.ts';
import { begin, type Json, open, send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import type { Script, Turn } from '../harness/http-backend.ts';
import { SseClient } from '../harness/sse-client.ts';

/** Where they do it: the addresses of a gateway, in front of backends with the scripts below. */
export interface Places {
  readonly origin: string;
  /** The address of a backend. */
  url(backend: string): string;
}

export interface Work {
  readonly name: string;
  run(places: Places, held: Holds): Promise<void>;
}

/** Calls of the tool `hold`, which no backend answers by itself. */
export interface Holds {
  /** The newest, once there are so many. */
  nth(n: number): Promise<Turn>;
  readonly turns: readonly Turn[];
}

const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };

/** What a backend of either era does for them. */
export function scriptFor(hold: (turn: Turn) => void): Script {
  return {
    'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' }),
    'tools/call': (turn) => {
      const { id, params } = turn.message;
      const result = { resultType: 'complete', ...text('done') };
      if (params.name === 'hold') hold(turn);
      else if (params.name === 'ask') turn.stream().event(request('q', 'elicitation/create', form));
      else if (params.name === 'talk') {
        const { progressToken } = params._meta;
        const progress = { progressToken, progress: 1 };
        turn.stream().event({ jsonrpc: '2.0', method: 'notifications/progress', params: progress });
        turn.event({ jsonrpc: '2.0', id, result }).end();
      } else turn.result(result);
    },
    'subscriptions/listen': (turn) => {
      const params = { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id } };
      turn.stream().event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params });
    },
  };
}

const calling = (name: string, meta: object = {}): Json =>
  modern({ id: 1, method: 'tools/call', params: { name }, meta, capabilities: { elicitation: {} } });

async function finished(url: string, said: Json): Promise<void> {
  const answer = await send(url, said);
  if (answer.status !== 200 || !answer.body.includes('done')) throw new Error(`${answer.status} ${answer.body}`);
}

const backends = ['legacy', 'modern'] as const;

export const works: readonly Work[] = [
  ...backends.flatMap((backend): readonly Work[] => [
    { name: `a modern call, ${backend} backend`, run: (places) => finished(places.url(backend), calling('work')) },
    {
      name: `a modern call with progress, ${backend} backend`,
      run: (places) => finished(places.url(backend), calling('talk', { progressToken: 1 })),
    },
    {
      name: `a modern call that is given up, ${backend} backend`,
      run: async (places, held) => {
        const before = held.turns.length;
        const begun = begin(places.url(backend), calling('hold'));
        const turn = await held.nth(before + 1);
        begun.drop();
        // A legacy backend is told by name, and its answer is closed; a modern one is told by that alone.
        await turn.closed;
      },
    },
    {
      name: `a legacy session with a stream, ended, ${backend} backend`,
      run: async (places) => {
        const client = await connectLegacy(places.url(backend));
        const stream = await client.listen();
        const answer = await client.post(call(1));
        if (answer.status !== 200) throw new Error(answer.body);
        await client.end();
        await stream.ended;
      },
    },
    {
      name: `a legacy session that is ended in the middle of a call, ${backend} backend`,
      run: async (places, held) => {
        const before = held.turns.length;
        const client = await connectLegacy(places.url(backend));
        const begun = begin(client.url, { body: request(1, 'tools/call', { name: 'hold' }), headers: client.headers });
        await held.nth(before + 1);
        await client.end();
        await (await begun.answer).ended;
      },
    },
    {
      name: `a client of HTTP+SSE that goes in the middle of a call, ${backend} backend`,
      run: async (places, held) => {
        const before = held.turns.length;
        const client = await SseClient.connect(`${places.origin}/servers/${backend}/sse`);
        await client.ask(call(1));
        await client.post(request(2, 'tools/call', { name: 'hold' }));
        const turn = await held.nth(before + 1);
        client.close();
        await turn.closed;
      },
    },
  ]),
  {
    name: 'a subscription',
    run: async (places) => {
      const listening = modern({ id: 1, method: 'subscriptions/listen', params: { notifications: {} } });
      const stream = await open(places.url('modern'), listening);
      await stream.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
      stream.close();
    },
  },
  {
    name: 'what is refused',
    run: async (places) => {
      await send(places.url('modern'), { body: '{' });
      await send(places.url('legacy'), { body: call(1) });
      await send(`${places.origin}/nowhere`, { body: call(1) });
    },
  },
  {
    name: 'half a request',
    run: (places) =>
      new Promise((resolve) => {
        const socket = connect(Number(new URL(places.origin).port), '127.0.0.1', () => {
          socket.write('POST /servers/modern/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{', () =>
            socket.destroy(),
          );
        });
        socket.on('error', () => undefined).on('close', () => resolve());
      }),
  },
];
