import { expect, test } from 'vitest';
import type { BuiltGeneration } from '../../../src/app/build-generation.ts';
import { systemClock } from '../../../src/app/clock.ts';
import { type ConfigApplierParts, prepareConfig } from '../../../src/app/reload/config-applier.ts';
import { RetiredGenerations } from '../../../src/app/retired-generations.ts';
import { CurrentGeneration } from '../../../src/pipeline/generation.ts';
import { BackendInFlight } from '../../../src/pipeline/in-flight.ts';
import { Workshop, withBackends } from '../generations.ts';

/** Whoever calls what is not there fails the test, and says what it called. */
const only = <T>(name: string, members: object = {}): T =>
  new Proxy(members, {
    get: (target, key) => {
      if (key in target) return Reflect.get(target, key);
      throw new Error(`${name}.${String(key)} was touched`);
    },
  }) as T;

function scene() {
  const parts = new Workshop();
  const currentGeneration = new CurrentGeneration<BuiltGeneration>();
  currentGeneration.swap(parts.build(withBackends(['a', 'b'])));
  const build: ConfigApplierParts['build'] = (config, before) => parts.build(config, before);
  return { parts, currentGeneration, build, before: currentGeneration.now };
}

test('a config whose last part cannot be built changes nothing', () => {
  const { parts, currentGeneration, build, before } = scene();
  parts.makeService = () => {
    throw new Error('no such thing');
  };
  const ledger = { protocol: 'json-rpc', url: 'http://127.0.0.1:9/' };
  const next = withBackends(['a'], { backends: { c: { url: 'http://127.0.0.1:9/c' }, ledger } });
  const untouched = { gateway: only<ConfigApplierParts['gateway']>('gateway'), retired: only<never>('retired') };
  expect(() => prepareConfig(next, { build, currentGeneration, ...untouched })).toThrow('no such thing');
  expect(parts.made.at(-1)).toBe('c');
  expect(parts.closed).toEqual(['c']);
  expect(currentGeneration.now).toBe(before);
});

test('the next generation is in force before it decides about sessions, and then the old one is retired', () => {
  const { currentGeneration, build, before } = scene();
  const steps: unknown[] = [];
  const next = withBackends(['a', 'c']);
  const prepared = prepareConfig(next, {
    build,
    currentGeneration,
    gateway: { renew: ({ gone }) => void steps.push([...gone], currentGeneration.now.config === next) },
    retired: only<ConfigApplierParts['retired']>('retired', {
      retire: (old: object, by: object) => void steps.push(old === before, by === currentGeneration.now),
    }),
  });
  expect([steps, currentGeneration.now]).toEqual([[], before]);
  prepared.commit();
  expect(steps).toEqual([['b'], true, true, true]);
});

test('a config that is abandoned after it was built closes what only it has, and changes nothing', () => {
  const { parts, currentGeneration, build, before } = scene();
  const retired = new RetiredGenerations(new BackendInFlight(), systemClock);
  const gateway = only<ConfigApplierParts['gateway']>('gateway');
  prepareConfig(withBackends(['a', 'c']), { build, currentGeneration, gateway, retired }).abandon();
  expect(parts.closed).toEqual(['c']);
  expect(currentGeneration.now).toBe(before);
});
