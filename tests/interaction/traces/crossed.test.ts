/**
 * A call with a server request in its middle, between all eras, as a collector sees it: every span has the right
 * parent, and every peer is told the span that it works for.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import type { CollectedSpan, Collector } from '../harness/collector.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import type { ConfigValue } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { AskingBackend, form, type Transport, transports } from '../harness/server-requests.ts';
import { modernProcess } from '../harness/stdio-backend.ts';
import { caller, readTraceparent, startTraced, traceparent } from './setup.ts';

const capabilities = { elicitation: {} };
const accepted = { action: 'accept', content: { name: 'Ada' } };
const parent = { _meta: { traceparent: traceparent(caller) } };

interface Asking {
  /** For the config of the gateway. */
  readonly config: ConfigValue;
  /** The calls that it got. */
  calls(): readonly Json[];
}

const backends = {
  legacy: async (transport: Transport): Promise<Asking> => {
    const backend = await AskingBackend.start(transport);
    return { config: backend.config, calls: () => backend.calls.map(({ message }) => message) };
  },
  modern: async (transport: Transport): Promise<Asking> => {
    const asked = {
      resultType: 'input_required',
      inputRequests: { who: { method: 'elicitation/create', params: form } },
      requestState: 'round 1',
    };
    const done = { resultType: 'complete', content: [] };
    const answer = (turn: { readonly message: Json; result(result: object): void }) =>
      turn.result(turn.message.params.inputResponses === undefined ? asked : done);
    const script = { 'tools/call': answer };
    const backend = await (transport === 'http' ? modernBackend(script) : modernProcess(script));
    const config = 'url' in backend ? { url: backend.url } : { command: backend.command, args: backend.args };
    return { config, calls: () => backend.of('tools/call').map(({ message }) => message) };
  },
};

/** Calls the tool, and answers its question. Returns the parameters of the question, where it was a message. */
const clients = {
  legacy: async (url: string, name: string): Promise<Json> => {
    const client = await connectLegacy(url, { capabilities });
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, ...parent } };
    const stream = await client.stream(call);
    const question = await stream.message(({ method }) => method === 'elicitation/create');
    await client.post({ jsonrpc: '2.0', id: question.id, result: accepted });
    const { result } = await stream.message(({ id, method }) => id === 7 && method === undefined);
    expect(result.content).toBeDefined();
    return question.params;
  },
  modern: async (url: string, name: string): Promise<undefined> => {
    const meta = parent._meta;
    const first = await send(url, modern({ id: 7, method: 'tools/call', params: { name }, capabilities, meta }));
    const { inputRequests, requestState } = first.json().result;
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, accepted]));
    const params = { name, inputResponses, requestState };
    const second = await send(url, modern({ id: 8, method: 'tools/call', params, capabilities, meta }));
    expect(second.json().result.content).toBeDefined();
  },
};

function named({ spans }: Collector, name: string, kind: CollectedSpan['kind']): readonly CollectedSpan[] {
  return spans.filter((span) => span.name === name && span.kind === kind).sort((a, b) => a.start - b.start);
}

const places = { single: { prefix: '', others: false }, merged: { prefix: 'b__', others: true } } as const;

const cases = eras.flatMap((client) =>
  eras.flatMap((backend) =>
    transports.flatMap((transport) =>
      (['single', 'merged'] as const).map((place) => ({ client, backend, transport, place, ...places[place] })),
    ),
  ),
);

describe('a trace of a call with a server request', verifies('gateway:traces:parents'), () => {
  it.each(cases)('$client client, $backend backend over $transport, $place endpoint', async (row) => {
    const backend = await backends[row.backend](row.transport);
    const other = row.others ? { other: { url: (await modernBackend()).url } } : {};
    const { gateway, spans } = await startTraced({
      backends: { b: backend.config, ...other },
      endpoints: [{ path: '/mcp', traces: 'parent' }],
    });
    const question = await clients[row.client](gateway.url(), `${row.prefix}greet`);
    const collected = await spans();

    const served = named(collected, `tools/call ${row.prefix}greet`, 'server');
    const sent = named(collected, 'tools/call greet', 'client');
    const [first, second] = served;
    // Each round of a modern client is a message of its own; each round of a modern backend is a call of its own.
    expect(served).toHaveLength(row.client === 'modern' ? 2 : 1);
    expect(sent).toHaveLength(row.backend === 'modern' ? 2 : 1);
    for (const { parentId } of served) expect(parentId).toBe(caller.spanId);
    for (const { traceId } of [...served, ...sent]) expect(traceId).toBe(caller.traceId);
    if (second !== undefined) {
      expect(first?.attributes).toMatchObject({ 'bascule.outcome': 'asked' });
      expect(second.links).toEqual([{ traceId: first?.traceId, spanId: first?.spanId }]);
    }
    expect(sent.map(({ parentId }) => parentId)).toEqual(sent.map((_, round) => (served[round] ?? first)?.spanId));
    const told = backend.calls().map(({ params }) => readTraceparent(params._meta.traceparent).spanId);
    expect(told).toEqual(sent.map(({ spanId }) => spanId));
    const crossing = { legacy: 'old-to-new', modern: 'new-to-old' }[row.client];
    const bridge = row.client === row.backend ? 'none' : crossing;
    expect(first?.attributes).toMatchObject({ 'bascule.bridge': bridge, 'bascule.backend': 'b' });

    const received = named(collected, 'elicitation/create', 'server');
    const relayed = named(collected, 'elicitation/create', 'client');
    expect(received.map(({ parentId }) => parentId)).toEqual(row.backend === 'legacy' ? [sent[0]?.spanId] : []);
    expect(relayed.map(({ parentId }) => parentId)).toEqual(
      row.client === 'legacy' ? [(received[0] ?? first)?.spanId] : [],
    );
    if (row.client === 'legacy')
      expect(readTraceparent(question._meta.traceparent)).toEqual({
        traceId: caller.traceId,
        spanId: relayed[0]?.spanId,
        flags: '01',
      });
  });
});
