/** Every frame of every kind of modern exchange, looked at for words that only sessions have. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { Held, text } from '../harness/behind.ts';
import { type Call, type Json, type OpenAnswer, open } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script, type Turn } from '../harness/http-backend.ts';

/** Headers, methods, members and fields of a stream that the revision does not have any more. */
const ofSessions = /session|last-event-id|initiali[sz]e|\bping\b|^id:|^retry:|-32001/im;

const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
const capabilities = { elicitation: {} };
const call = (name: string, more: object = {}): Call =>
  modern({ method: 'tools/call', params: { name, ...more }, capabilities, meta: { progressToken: 'p' } });

const requests: readonly { name: string; call: Call }[] = [
  { name: 'a discovery', call: modern({ method: 'server/discover' }) },
  { name: 'a list', call: modern({ method: 'tools/list' }) },
  { name: 'a result', call: call('plain') },
  { name: 'a stream', call: call('streamed') },
  { name: 'an error', call: call('broken') },
  { name: 'a question', call: call('asking') },
  { name: 'a backend that is cut off', call: call('cut') },
  { name: 'an unknown method', call: modern({ method: 'logging/setLevel' }) },
  { name: 'a wrong header', call: modern({ method: 'tools/list', headers: { 'mcp-method': 'x' } }) },
  {
    name: 'a wrong version',
    call: modern({ method: 'tools/list', headers: { 'mcp-protocol-version': '2025-11-25' } }),
  },
  {
    name: 'a notification',
    call: { headers: { 'mcp-protocol-version': '2026-07-28' }, body: { jsonrpc: '2.0', method: 'n' } },
  },
  { name: 'an array', call: { headers: { 'mcp-protocol-version': '2026-07-28' }, body: [] } },
  { name: 'no JSON', call: { headers: { 'mcp-protocol-version': '2026-07-28' }, body: '{' } },
  { name: 'a stray GET', call: { method: 'GET', headers: { 'mcp-protocol-version': '2026-07-28' } } },
];

function tool(turn: Turn, asks: (turn: Turn) => void): void {
  const { id, params } = turn.message;
  if (params.name === 'plain') turn.result(text('done'));
  else if (params.name === 'broken') turn.error(-32050, 'broken');
  else if (params.name === 'cut') turn.cut();
  else if (params.name === 'asking') asks(turn);
  else {
    turn
      .stream()
      .event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: id, progress: 1 } });
    turn.event({ jsonrpc: '2.0', id, result: text('done') }).end();
  }
}

const asking = { resultType: 'input_required', inputRequests: { q: { method: 'elicitation/create', params: form } } };
const held = (): { script: Script; calls: Held; listens: Held } => {
  const calls = new Held();
  const listens = new Held();
  return { calls, listens, script: { 'prompts/get': calls.take, 'subscriptions/listen': listens.take } };
};

const sides = [
  { era: 'modern', start: modernBackend, asks: (turn: Turn) => turn.result(asking) },
  {
    era: 'legacy',
    start: legacyBackend,
    asks: (turn: Turn) => turn.stream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: form }),
  },
];

const seen = (answer: OpenAnswer): string =>
  `${Object.entries(answer.headers)
    .map(([name, value]) => `${name}= ${value}\n`)
    .join('')}${answer.text()}`;

describe.each(sides)(
  'modern exchanges with a $era backend',
  verifies('gateway:modern:vocabulary'),
  ({ era, start, asks }) => {
    it('hold no word of sessions', async () => {
      const { script, calls, listens } = held();
      const backend = await start({
        ...script,
        'tools/list': (turn) => turn.result({ tools: [] }),
        'tools/call': (turn) => void tool(turn, asks),
      });
      const gateway = await startGateway({ backends: { b: { url: backend.url } } });
      const url = gateway.url('b');
      const frames: { name: string; text: string }[] = [];
      for (const request of requests) {
        const answer = await open(url, request.call);
        await answer.ended;
        frames.push({ name: request.name, text: seen(answer) });
      }

      // What is still open when the gateway stops.
      const listening = await open(
        url,
        modern({ id: 'l', method: 'subscriptions/listen', params: { notifications: {} } }),
      );
      if (era === 'modern') (await listens.nth(1)).stream();
      const running = open(url, modern({ id: 'r', method: 'prompts/get', params: { name: 'p' } }));
      await calls.nth(1);
      await gateway.close(0);
      for (const answer of [listening, await running]) {
        await answer.ended;
        frames.push({ name: 'the end of the gateway', text: seen(answer) });
      }
      expect(frames).toHaveLength(requests.length + 2);
      expect(frames.filter((frame) => ofSessions.test(frame.text))).toEqual([]);

      // Towards a modern backend as well, but for the question whether it has a legacy half.
      if (era === 'legacy') return;
      const probe = ({ message, http }: Json) => http === 'DELETE' || message?.method === 'initialize';
      const upstream = backend.received.filter((received) => !probe(received));
      expect(upstream.length).toBeGreaterThanOrEqual(8);
      expect(upstream.filter(({ http }) => http !== 'POST')).toEqual([]);
      expect(
        upstream.filter(({ headers, text: body }) => ofSessions.test(`${JSON.stringify(headers)}${body}`)),
      ).toEqual([]);
    });
  },
);
