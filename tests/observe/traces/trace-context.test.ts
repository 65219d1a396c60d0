/** Trace context from strangers, and the share of traces that are sampled. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newTraceId } from '../../../src/observe/traces/ids.ts';
import { isSampled } from '../../../src/observe/traces/sampler.ts';
import { listedBaggage, placeFrom, traceparentOf } from '../../../src/observe/traces/trace-context.ts';

const parts = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

describe('a traceparent', () => {
  const rows = [
    { text: traceparentOf(parts.traceId, parts.spanId, true), isSampled: true },
    { text: traceparentOf(parts.traceId, parts.spanId, false), isSampled: false },
    { text: `00-${parts.traceId}-${parts.spanId}-03`, isSampled: true },
    { text: `cc-${parts.traceId}-${parts.spanId}-01-later-fields`, isSampled: true },
  ];
  it.each(rows)('$text is read', ({ text, isSampled: sampled }) => {
    const place = placeFrom((key) => (key === 'traceparent' ? text : undefined));
    expect(place).toEqual({ ...parts, isSampled: sampled, tracestate: undefined });
  });

  it('of any text is valid or none, and never an exception', () => {
    const field = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[0-9a-f]{2}-[0-9a-f]{30,34}-[0-9a-f]{14,18}-[0-9a-f]{1,3}$/),
    );
    fc.assert(
      fc.property(field, fc.string(), (traceparent, tracestate) => {
        const place = placeFrom((key) => ({ traceparent, tracestate, baggage: undefined })[key]);
        if (place === undefined) return;
        expect(place.traceId).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
        expect(place.spanId).toMatch(/^(?!0+$)[0-9a-f]{16}$/);
        expect(place.tracestate ?? '').toMatch(/^[\x20-\x7e\t]*$/);
      }),
    );
  });
});

it('baggage of any text keeps only listed keys, in characters that a header can have', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (before, value) => {
      const kept = listedBaggage(`${before},tenant=${value}`, new Set(['tenant'])) ?? '';
      expect(kept).toMatch(/^[\x20-\x7e\t]*$/);
      for (const member of kept.split(',').filter((one) => one !== '')) expect(member).toMatch(/^tenant[ \t]*=/);
    }),
  );
});

it('baggage with an empty value, with properties, and with white space is kept', () => {
  const kept = listedBaggage('a=,a = 1 ;p=2,a=\t\t, a= x y,b=2', new Set(['a']));
  expect(kept).toBe('a=,a = 1 ;p=2,a=');
});

describe('the sampler', () => {
  it.each([0, 0.01, 0.5, 1])('takes a share of %d of random trace ids', (ratio) => {
    const count = 20_000;
    const sampler = { parentBased: true, ratio };
    const taken = Array.from({ length: count }, newTraceId).filter((id) => isSampled(sampler, id, undefined)).length;
    // More than five standard deviations.
    expect(Math.abs(taken / count - ratio)).toBeLessThan(0.02);
  });

  it('keeps the decision of a parent, unless it is told not to', () => {
    const yes = { isSampled: true };
    expect(isSampled({ parentBased: true, ratio: 0 }, parts.traceId, yes)).toBe(true);
    expect(isSampled({ parentBased: false, ratio: 0 }, parts.traceId, yes)).toBe(false);
  });
});
