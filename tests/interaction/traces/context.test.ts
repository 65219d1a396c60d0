/** Which trace a message belongs to: by what the client sends, and by how far the endpoint trusts it. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Headers, send } from '../harness/client.ts';
import { collector } from '../harness/collector.ts';
import { keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import type { ConfigValue } from '../harness/gateway.ts';
import { modernBackend, type Received } from '../harness/http-backend.ts';
import { StdioClient } from '../harness/program.ts';
import { type Caller, caller, otherCaller, readTraceparent, startTraced, traceparent } from './setup.ts';

interface Sending {
  readonly meta?: object;
  readonly headers?: Headers;
}

const done = { resultType: 'complete', content: [] };

/** One call through a gateway: its spans, and what the backend got. */
async function calling(sent: Sending, endpoint: ConfigValue = {}, more: ConfigValue = {}, traces: ConfigValue = {}) {
  const backend = await modernBackend({ 'tools/call': (turn) => turn.result(done) });
  const { gateway, spans } = await startTraced(
    { backends: { b: { url: backend.url } }, endpoints: [{ path: '/mcp', ...endpoint }], ...more },
    traces,
  );
  const answer = await send(gateway.url(), modern({ method: 'tools/call', params: { name: 'x' }, ...sent }));
  expect(answer.status).toBe(200);
  const [got] = backend.of('tools/call');
  return { collected: await spans(), got: got as Received };
}

const trusting = { traces: 'parent' };

interface Nesting {
  readonly name: string;
  readonly sent: Sending;
  readonly parent?: Caller;
  readonly links?: readonly Caller[];
}

const inMeta = { traceparent: traceparent(caller) };
const inHeaders = { traceparent: traceparent(otherCaller) };

describe('the parent of a message', verifies('gateway:traces:context'), () => {
  const rows: readonly Nesting[] = [
    { name: 'is the span in `_meta`', sent: { meta: inMeta }, parent: caller },
    { name: 'is the span in the header, where that is alone', sent: { headers: inHeaders }, parent: otherCaller },
    {
      name: 'is the span in `_meta`, and the header a link, where both are there',
      sent: { meta: inMeta, headers: inHeaders },
      parent: caller,
      links: [otherCaller],
    },
    {
      name: 'is the span in the header, where `_meta` is malformed',
      sent: { meta: { traceparent: 'x' }, headers: inHeaders },
      parent: otherCaller,
    },
    { name: 'is none without context', sent: {} },
  ];
  it.each(rows)('$name', async ({ sent, parent, links = [] }) => {
    const { collected, got } = await calling(sent, trusting);
    const served = collected.only('tools/call x', 'server');
    expect(served.parentId).toBe(parent?.spanId ?? '');
    if (parent !== undefined) expect(served.traceId).toBe(parent.traceId);
    expect(served.links).toEqual(links);
    const { traceId, spanId } = collected.only('tools/call x', 'client');
    expect(readTraceparent(got.message.params._meta.traceparent)).toEqual({ traceId, spanId, flags: '01' });
    expect(got.headers.traceparent).toBe(got.message.params._meta.traceparent);
  });

  const malformed: Readonly<Record<string, unknown>> = {
    'too short': '00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01',
    'upper case': traceparent(caller).toUpperCase(),
    'a trace id of zeros': traceparent({ ...caller, traceId: '0'.repeat(32) }),
    'a span id of zeros': traceparent({ ...caller, spanId: '0'.repeat(16) }),
    'version ff': traceparent(caller).replace(/^00/, 'ff'),
    'a longer version 00': `${traceparent(caller)}-more`,
    'a number': 1,
    'an object': { traceparent: traceparent(caller) },
    null: null,
    'very long': 'a'.repeat(100_000),
  };
  it.each(Object.entries(malformed))('%s starts a new trace, and drops `tracestate`', async (_name, text) => {
    const { collected, got } = await calling({ meta: { traceparent: text, tracestate: 'a=1' } }, trusting);
    const served = collected.only('tools/call x', 'server');
    expect(served).toMatchObject({ parentId: '', links: [], state: '' });
    expect(served.traceId).not.toBe(caller.traceId);
    expect(readTraceparent(got.message.params._meta.traceparent).traceId).toBe(served.traceId);
    expect(got.message.params._meta).not.toHaveProperty('tracestate');
  });
});

describe('trace context', verifies('gateway:traces:propagation'), () => {
  it('passes `tracestate` with a valid parent, in `_meta` and in the header', async () => {
    const { collected, got } = await calling({ meta: { ...inMeta, tracestate: 'a=1,b=2' } }, trusting);
    expect(got.message.params._meta.tracestate).toBe('a=1,b=2');
    expect(got.headers.tracestate).toBe('a=1,b=2');
    expect(collected.only('tools/call x', 'server').state).toBe('a=1,b=2');
  });

  it.each(['a', 'A=1', 'a=1\n,b=2', `a=${'x'.repeat(600)}`])(
    'drops the malformed `tracestate` %j',
    async (tracestate) => {
      const { got } = await calling({ meta: { ...inMeta, tracestate } }, trusting);
      expect(got.message.params._meta).not.toHaveProperty('tracestate');
      expect(got.headers).not.toHaveProperty('tracestate');
    },
  );

  it('is told to backends with flag 00 where the trace is not sampled, of which nothing is exported', async () => {
    const { collected, got } = await calling({ meta: { traceparent: traceparent(caller, '00') } }, trusting);
    expect(readTraceparent(got.message.params._meta.traceparent)).toMatchObject({
      traceId: caller.traceId,
      flags: '00',
    });
    expect(got.headers.traceparent).toBe(got.message.params._meta.traceparent);
    expect(collected.spans.filter(({ traceId }) => traceId === caller.traceId)).toEqual([]);
  });

  const baggage = 'tenant=blue;p=1, secret=x,user=ada';
  const listings = [
    { listed: undefined, passes: undefined },
    { listed: ['tenant'], passes: 'tenant=blue;p=1' },
    { listed: ['user', 'tenant'], passes: 'tenant=blue;p=1,user=ada' },
  ];
  it.each(listings)('passes of baggage the listed keys $listed', async ({ listed, passes }) => {
    const traces = listed === undefined ? {} : { baggage: listed };
    const { got } = await calling({ meta: { ...inMeta, baggage } }, trusting, {}, traces);
    expect(got.message.params._meta.baggage).toBe(passes);
    expect(got.headers.baggage).toBe(passes);
  });
});

describe('the trust of an endpoint', verifies('gateway:traces:trust'), () => {
  const sent = { meta: { ...inMeta, tracestate: 'a=1', baggage: 'tenant=blue' }, headers: inHeaders };
  const rows = [
    { name: 'link, which is usual without authentication', endpoint: {}, links: [caller, otherCaller] },
    { name: 'link', endpoint: { traces: 'link' }, links: [caller, otherCaller] },
    { name: 'none', endpoint: { traces: 'none' }, links: [] },
  ];
  it.each(rows)('$name: starts a trace of its own', async ({ endpoint, links }) => {
    const { collected, got } = await calling(sent, endpoint, {}, { baggage: ['tenant'] });
    const served = collected.only('tools/call x', 'server');
    expect(served).toMatchObject({ parentId: '', links, state: '' });
    expect([caller.traceId, otherCaller.traceId]).not.toContain(served.traceId);
    expect(Object.keys(got.message.params._meta)).not.toContain('tracestate');
    expect(Object.keys(got.message.params._meta)).not.toContain('baggage');
  });

  it('link: the flag of a stranger does not decide what is exported', async () => {
    const { collected } = await calling({ meta: inMeta }, {}, {}, { sample: 0 });
    expect(collected.spans).toEqual([]);
  });

  it('parent, which is usual with authentication', async () => {
    const ring = keyRing();
    const headers = { authorization: `Bearer ${ring.make('ada')}` };
    const { collected } = await calling({ meta: inMeta, headers }, {}, { identity: { keys: { file: ring.path } } });
    expect(collected.only('tools/call x', 'server')).toMatchObject({ ...parentOf(caller), links: [] });
  });

  it('parent, which is usual for a client over stdio', async () => {
    const backend = await modernBackend({ 'tools/call': (turn) => turn.result(done) });
    const collected = await collector();
    const config = { backends: { b: { url: backend.url } }, traces: { url: collected.url } };
    const client = new StdioClient({ files: { 'bascule.yaml': JSON.stringify(config) } });
    await client.ask(modern({ method: 'tools/call', params: { name: 'x' }, meta: inMeta }).body);
    client.program.endInput();
    await client.program.end();
    const served = collected.only('tools/call x', 'server');
    expect(served).toMatchObject(parentOf(caller));
    expect(served.attributes).toMatchObject({ 'network.transport': 'pipe' });
    expect(served.attributes).not.toHaveProperty('network.protocol.name');
  });
});

function parentOf({ traceId, spanId }: Caller): object {
  return { traceId, parentId: spanId };
}
