/** One call through each pair of eras, in raw text on both sides. */
import { expect } from 'vitest';
import { type Answer, send } from '../harness/client.ts';
import { connectLegacy, modernHeaders, modernMeta } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Received, type Turn } from '../harness/http-backend.ts';

export type Era = 'legacy' | 'modern';

export const pairs: readonly { readonly client: Era; readonly backend: Era }[] = [
  { client: 'legacy', backend: 'legacy' },
  { client: 'legacy', backend: 'modern' },
  { client: 'modern', backend: 'legacy' },
  { client: 'modern', backend: 'modern' },
];

export interface Exchange {
  /** Members of `params`, raw; `_meta` is written by the client's era. */
  readonly params?: string;
  /** Members of `_meta` that are the client's own, raw. */
  readonly meta?: string;
  /** Members of `result`, raw. */
  readonly result?: string;
  /** What the backend says before the result, as raw messages. */
  readonly says?: (turn: Turn) => readonly string[];
}

export interface Passed {
  readonly answer: Answer;
  /** What the backend got. */
  readonly received: Received;
}

/** A tool call from end to end. The answer is a stream where the backend has more to say than the result. */
export async function pass(client: Era, backend: Era, exchange: Exchange): Promise<Passed> {
  const { params = '', meta = '', result = '"content":[]', says } = exchange;
  const start = backend === 'legacy' ? legacyBackend : modernBackend;
  const behind = await start({
    'tools/call': (turn) => {
      const answer = `{"jsonrpc":"2.0","result":{${result}${backend === 'modern' ? ',"resultType":"complete"' : ''}},"id":${JSON.stringify(turn.message.id)}}`;
      if (says === undefined) turn.json(answer);
      else {
        turn.stream();
        for (const message of [...says(turn), answer]) turn.bytes(`data: ${message}\n\n`);
        turn.end();
      }
    },
  });
  const gateway = await startGateway({ backends: { b: { url: behind.url } } });
  const url = gateway.url('b');
  const answer =
    client === 'legacy'
      ? await (await connectLegacy(url)).post(request(params, meta === '' ? '' : `"_meta":{${meta}}`))
      : await send(url, {
          headers: modernHeaders('tools/call', 't'),
          body: request(params, `"_meta":{${[...(meta === '' ? [] : [meta]), envelope].join(',')}}`),
        });
  expect(answer.status).toBe(200);
  const [received] = behind.of('tools/call');
  return { answer, received: received as Received };
}

const envelope = JSON.stringify(modernMeta()).slice(1, -1);

function request(params: string, meta: string): string {
  const members = ['"name":"t"', params, meta].filter((part) => part !== '').join(',');
  return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{${members}}}`;
}
