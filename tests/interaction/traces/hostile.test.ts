/** Trace context that is made to harm: every message is answered, and what backend and collector get is bounded. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Headers, send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { caller, startTraced, traceparent } from './setup.ts';

const valid = traceparent(caller);
const many = (count: number, member: (at: number) => string) => [...Array(count).keys()].map(member).join(',');

/** `isHeader`: node:http accepts the value, and the limit of all headers together. */
const hostile: readonly { readonly name: string; readonly context: Headers; readonly isHeader?: true }[] = [
  { name: 'a traceparent of 8 KB', context: { traceparent: 'a'.repeat(8_192) }, isHeader: true },
  {
    name: 'a traceparent that goes on for 8 KB',
    context: { traceparent: `${valid}-${'0'.repeat(8_000)}` },
    isHeader: true,
  },
  { name: 'wrong hex', context: { traceparent: valid.replace(/[0-9a-f](?=-)/g, 'g') }, isHeader: true },
  { name: 'digits of another script', context: { traceparent: valid.replaceAll('0', '\u0660') } },
  { name: 'control characters', context: { traceparent: `${valid}\r\nx-evil: 1`, tracestate: 'a=1\r\nx-evil: 1' } },
  {
    name: 'a tracestate of 8 KB',
    context: { traceparent: valid, tracestate: `a=${'x'.repeat(8_000)}` },
    isHeader: true,
  },
  {
    name: 'a tracestate of thousands of members',
    context: { traceparent: valid, tracestate: many(5_000, (at) => `k${at}=${at}`) },
  },
  { name: 'a tracestate of commas', context: { traceparent: valid, tracestate: ','.repeat(8_000) }, isHeader: true },
  {
    name: 'a baggage of 8 KB',
    context: { traceparent: valid, baggage: `tenant=${'x'.repeat(8_000)}` },
    isHeader: true,
  },
  {
    name: 'a baggage of thousands of members',
    context: { traceparent: valid, baggage: many(5_000, () => 'tenant=blue') },
  },
  {
    name: 'a baggage with thousands of properties',
    context: { traceparent: valid, baggage: `tenant=blue${';p=1'.repeat(5_000)}` },
  },
  { name: 'broken escapes', context: { traceparent: valid, baggage: 'tenant=%ZZ%,%=%' }, isHeader: true },
  {
    name: 'a member named __proto__',
    context: { traceparent: valid, baggage: '__proto__=1,tenant=blue' },
    isHeader: true,
  },
];

/** What specifications say that all may rely on: W3C trace context, 3.3.1.5, and baggage, 3.3.2. */
const most = { tracestate: 512, baggage: 8_192 } as const;

it('hostile trace context is bounded, and no message is lost', verifies('gateway:traces:propagation'), async () => {
  const backend = await modernBackend({ 'tools/call': (turn) => turn.result({ resultType: 'complete', content: [] }) });
  const config = { backends: { b: { url: backend.url } }, endpoints: [{ path: '/mcp', traces: 'parent' }] };
  const { gateway, spans } = await startTraced(config, { baggage: ['tenant', '__proto__'] });
  let sent = 0;
  for (const { name, context, isHeader } of hostile) {
    const ways = [{ meta: context }, ...(isHeader ? [{ headers: context }, { meta: context, headers: context }] : [])];
    for (const way of ways) {
      const answer = await send(gateway.url(), modern({ method: 'tools/call', params: { name: 'x' }, ...way }));
      expect(answer.status, name).toBe(200);
      sent += 1;
    }
  }
  const got = backend.of('tools/call');
  expect(got).toHaveLength(sent);
  for (const { headers, message } of got) {
    const { _meta } = message.params;
    expect(headers).not.toHaveProperty('x-evil');
    for (const place of [headers, _meta]) {
      expect(place.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
      for (const [field, length] of Object.entries(most))
        expect(String(place[field] ?? '').length, field).toBeLessThanOrEqual(length);
    }
  }
  const collected = await spans();
  expect(collected.spans.filter(({ name }) => name === 'tools/call x')).toHaveLength(2 * sent);
  for (const { state } of collected.spans) expect(state.length).toBeLessThanOrEqual(most.tracestate);
  expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
});
