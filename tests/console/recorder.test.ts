/** What the console keeps is bounded, whatever passes. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/app/clock.ts';
import { CallRing } from '../../src/console/call-ring.ts';
import { calls } from '../../src/console/calls.ts';
import { HISTORY_MINUTES, History, MINUTE_MS } from '../../src/console/history.ts';
import { bodiesOf } from '../../src/console/message-facts.ts';
import type { ConsolePorts } from '../../src/console/ports.ts';
import type { RecordedCall } from '../../src/console/recorded-call.ts';
import { ConsoleRecorder } from '../../src/console/recorder.ts';
import type { RequestContext } from '../../src/pipeline/context.ts';
import { methodRow } from '../../src/wire/methods.ts';
import { readMessage } from '../../src/wire/scan.ts';
import { verifies } from '../requirements/verifies.ts';

/** As far as the recorder looks at it. */
function context(name: string): RequestContext {
  const params = { name, arguments: {} };
  const message = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })), {
    depth: 16,
  });
  return {
    principal: { key: name, kind: 'key', keyName: name, scopes: new Set(), claims: {} },
    endpoint: { path: '/mcp', backends: ['a'] },
    message,
    era: 'modern',
    row: methodRow('tools/call'),
    client: { revision: '2026-07-28', info: JSON.stringify({ name }) },
    generation: { config: { generation: 1 } },
  } as unknown as RequestContext;
}

it(
  'after 100,000 calls the limit is kept, and an answer has no more rows than asked for',
  verifies('gateway:console:cost', 'gateway:console:calls'),
  () => {
    const recorder = new ConsoleRecorder({
      clock: systemClock,
      timeOfDay: Date.now,
      calls: 20_000,
      isOn: true,
      bodyBytes: undefined,
    });
    const same = context('often');
    for (let sent = 0; sent < 100_000; sent++) {
      const one = sent % 100 === 0 ? context(`tool-${sent}`) : same;
      recorder.messages.began(one);
      recorder.messages.ended(one, { outcome: 'result' });
    }
    expect(recorder.inFlight).toBe(0);
    expect(recorder.recent.newest - recorder.recent.oldest + 1).toBe(20_000);
    const ports = { recorder, timeOfDay: Date.now } as unknown as ConsolePorts;
    const ask = (query: Record<string, string>) =>
      calls(ports, new URLSearchParams(query)) as { calls: readonly { readonly name: string }[]; isCut: boolean };
    expect(ask({ limit: '100000' })).toMatchObject({ isCut: true });
    expect(ask({ limit: '100000' }).calls).toHaveLength(500);
    expect(ask({ name: 'TOOL-99900' }).calls).toMatchObject([{ name: 'tool-99900' }]);
    expect(ask({ name: 'tool-100' }).calls).toEqual([]);
    // Of the made-up people only the latest are known.
    expect(recorder.people.all().length).toBeLessThanOrEqual(2_000);
    const [now] = recorder.all.points(Date.now(), 1);
    expect(now?.calls).toBeGreaterThan(0);
  },
);

it('a name of a megabyte is cut', verifies('gateway:console:cost'), () => {
  const recorder = new ConsoleRecorder({
    clock: systemClock,
    timeOfDay: Date.now,
    calls: 10,
    isOn: true,
    bodyBytes: undefined,
  });
  const long = context('x'.repeat(1_000_000));
  recorder.messages.began(long);
  recorder.messages.ended(long, { outcome: 'result' });
  expect(recorder.recent.get(1)?.facts.name?.length).toBe(201);
});

describe('the ring', () => {
  const withBodies = (request: string) => ({ bodies: { request, response: undefined } }) as RecordedCall;
  it('drops the oldest bodies first, and keeps the calls', verifies('gateway:console:bodies'), () => {
    const ring = new CallRing(10, 100);
    for (const at of [1, 2, 3]) ring.add(withBodies(`${at}`.repeat(20)));
    expect([1, 2, 3].map((id) => ring.get(id)?.bodies?.request)).toEqual([undefined, '2'.repeat(20), '3'.repeat(20)]);
    for (let more = 0; more < 30; more++) ring.add(withBodies('x'.repeat(10)));
    expect([ring.oldest, ring.newest]).toEqual([24, 33]);
    const kept = Array.from({ length: 10 }, (_, at) => ring.get(24 + at)?.bodies).filter(
      (bodies) => bodies !== undefined,
    );
    expect(kept).toHaveLength(5);
    expect(ring.get(23)).toBeUndefined();
    expect(ring.get(34)).toBeUndefined();
  });
});

describe('the history', () => {
  const noon = 1_000_000 * MINUTE_MS;
  it('has quantiles that are right to within a fifth', verifies('gateway:console:overview'), () => {
    const history = new History();
    for (let ms = 1; ms <= 1_000; ms++) history.record(noon, ms, ms > 900);
    const [point] = history.points(noon, 1);
    expect(point).toMatchObject({ at: noon, calls: 1_000, errors: 100 });
    for (const [found, right] of [
      [point?.p50, 500],
      [point?.p95, 950],
      [point?.p99, 990],
    ] as const)
      expect(Math.abs((found ?? 0) / right - 1)).toBeLessThan(0.2);
  });

  it('forgets a minute when its slot is used again', verifies('gateway:console:overview'), () => {
    const history = new History();
    history.record(noon, 5, false);
    const later = noon + HISTORY_MINUTES * MINUTE_MS;
    expect(history.points(later, HISTORY_MINUTES).reduce((sum, { calls: seen }) => sum + seen, 0)).toBe(0);
    history.record(later, 5, true);
    expect(history.points(later, 1)).toMatchObject([{ calls: 1, errors: 1 }]);
  });

  it('has a rate over the last minute', verifies('gateway:console:overview'), () => {
    const history = new History();
    for (let sent = 0; sent < 120; sent++) history.record(noon, 1, false);
    expect(history.rate(noon + MINUTE_MS)).toBe(2);
    expect(history.rate(noon + 1.5 * MINUTE_MS)).toBe(1);
    expect(history.rate(noon + 2 * MINUTE_MS)).toBe(0);
  });
});

it('a long body is not read, only its size is told', verifies('gateway:console:bodies', 'gateway:console:cost'), () => {
  const response = Buffer.from(`{"password":"hunter2","a":[${'[],'.repeat(100_000)}[]]}`);
  const { response: kept } = bodiesOf(context('read'), { outcome: 'result', response });
  expect(JSON.parse(kept ?? '')).toEqual({ '***': `${response.byteLength} bytes` });
});
