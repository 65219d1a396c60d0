import { expect, test } from 'vitest';
import { AUDIT_CLOSE_MS, RetiredGenerations } from '../../src/app/retired-generations.ts';
import type { Failure } from '../../src/errors/failure.ts';
import { BackendInFlight } from '../../src/pipeline/in-flight.ts';
import { LeapClock } from '../interaction/harness/clock.ts';
import { configOf, Workshop, withBackends } from './generations.ts';

const soon = () => new Promise((resolve) => setImmediate(resolve));

function scene() {
  const clock = new LeapClock();
  const inFlight = new BackendInFlight();
  const failures: Failure[] = [];
  const begin = (backend: string) => {
    const leave = inFlight.enter(backend, {
      abort: (failure) => {
        failures.push(failure);
        leave();
      },
    });
    return leave;
  };
  return { clock, begin, failures, parts: new Workshop(), retired: new RetiredGenerations(inFlight, clock) };
}

test('a retired generation closes only what the next one did not reuse', async () => {
  const { parts, retired } = scene();
  const ledger = { ledger: { protocol: 'json-rpc', url: 'http://127.0.0.1:9/' } };
  const first = parts.build(configOf({ backends: { a: { url: 'http://127.0.0.1:9/a' }, ...ledger } }));
  const next = parts.build(withBackends(['a', 'b']), first);
  retired.retire(first, next);
  await soon();
  expect(parts.closed).toEqual(['ledger']);
});

test('a retired backend is closed when the last request at it is done, and not before', async () => {
  const { parts, retired, begin, failures } = scene();
  const first = parts.build(withBackends(['a', 'b']));
  const [leaveOne, leaveOther] = [begin('b'), begin('b')];
  const next = parts.build(withBackends(['a']), first);
  retired.retire(first, next);
  leaveOne();
  await soon();
  expect(parts.closed).toEqual([]);
  leaveOther();
  await soon();
  expect(parts.closed).toEqual(['b']);
  expect(failures).toEqual([]);
});

test('shutdown waits for a request of an earlier generation at a backend that was reused', async () => {
  const { parts, retired, begin } = scene();
  const first = parts.build(withBackends(['a', 'b']));
  const leave = begin('b');
  const second = parts.build(withBackends(['a', 'b', 'c']), first);
  retired.retire(first, second);
  retired.retire(second, parts.build(withBackends(['a', 'c']), second));
  await soon();
  expect(parts.closed).toEqual([]);
  leave();
  await soon();
  expect(parts.closed).toEqual(['b']);
});

test('requests that do not end within drainMs fail as backend_unavailable, and the backend is closed', async () => {
  const { clock, parts, retired, begin, failures } = scene();
  const first = parts.build(withBackends(['a', 'b'], { limits: { drainMs: 50 } }));
  begin('b');
  retired.retire(first, parts.build(withBackends(['a'], { limits: { drainMs: 50 } }), first));
  clock.leap(50);
  await soon();
  expect(failures.map(({ reason }) => reason)).toEqual(['backend_unavailable']);
  expect(parts.closed).toEqual(['b']);
});

test('a backend that replaces another of the same name does not wait for its requests', async () => {
  const { parts, retired, begin } = scene();
  const first = parts.build(withBackends(['a']));
  const leave = begin('a');
  const second = parts.build(configOf({ backends: { a: { url: 'http://127.0.0.1:9/other' } } }), first);
  retired.retire(first, second);
  begin('a');
  leave();
  await soon();
  expect(parts.closed).toEqual(['a']);
});

test('shutdown closes the last generation and what remains of earlier ones', async () => {
  const { parts, retired, begin } = scene();
  const first = parts.build(withBackends(['a', 'b']));
  begin('b');
  const second = parts.build(withBackends(['a']), first);
  retired.retire(first, second);
  await retired.close(second);
  expect(parts.closed.sort()).toEqual(['a', 'b', 'identity']);
});

test('the place of audit records is closed when the next generation has another one', async () => {
  const { parts, retired } = scene();
  const closes: number[] = [];
  const probe = async () => undefined;
  const { makeAuthorizer } = parts;
  parts.makeAuthorizer = (...given) => {
    const writer = { write: () => undefined, close: async (withinMs: number) => void closes.push(withinMs) };
    return { ...makeAuthorizer(...given), audit: given[1]?.audit ?? { writer, probe } };
  };
  const first = parts.build(withBackends(['a']));
  const same = parts.build(withBackends(['a', 'b']), first);
  retired.retire(first, same);
  expect(closes).toEqual([]);
  retired.retire(same, parts.build(withBackends(['a'])));
  expect(closes).toEqual([AUDIT_CLOSE_MS]);
});
