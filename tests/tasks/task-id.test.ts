/** Who can use the id of a task. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSealFor } from '../../src/store/seal.ts';
import { TaskIds, type TaskOrigin, type TaskPlace } from '../../src/tasks/task-id.ts';
import { encodeHeaderValue } from '../../src/wire/mirror.ts';
import { verifies } from '../requirements/verifies.ts';
import { awkwardText, holds } from '../wire/property.ts';

const place: TaskPlace = { endpoint: '/mcp', principal: 'key:ana' };
const task: TaskOrigin = { backend: 'jobs', id: '786512e2-9e0d-44bd-8f29-789f320fe840', tool: 'build' };

let now = 1_000;

function gateway(secrets: readonly string[] = ['secret'], instance = 'here'): TaskIds {
  const seals = secrets.map((secret) => createSealFor('task', secret));
  return new TaskIds({ instance, seals, timeOfDay: () => now });
}

function issued(origin: TaskOrigin = task, by = gateway()): string {
  const id = by.issue(origin, place);
  if (id === undefined) throw new Error('no id was issued');
  return id;
}

describe('ids of tasks', () => {
  it('a process with the same key opens the id of another one', () => {
    verifies('gateway:tasks:ids');
    expect(gateway().open(issued(), place)).toEqual(task);
  });

  it('an id needs no encoding in a header', () => {
    expect(encodeHeaderValue(issued())).toMatch(/^[\w-]+$/);
  });

  it.each([
    ['another principal', { ...place, principal: 'key:ben' }],
    ['another endpoint', { ...place, endpoint: '/other' }],
  ])('%s cannot open the id', (_who, other) => {
    verifies('gateway:tasks:ids');
    expect(gateway().open(issued(), other)).toBeUndefined();
  });

  it.each([
    ['another key', gateway(['other'])],
    ['no key', gateway([])],
    ['the same key and another name', gateway(['secret'], 'there')],
  ])('a gateway with %s cannot open the id', (_what, other) => {
    expect(other.open(issued(), place)).toBeUndefined();
  });

  it('an id that was sealed with a previous key still opens', () => {
    expect(gateway(['new', 'secret']).open(issued(), place)).toEqual(task);
  });

  it('an id with an end opens until then, and no longer', () => {
    const origin = { ...task, until: 5_000, session: 'session-1' };
    const id = issued(origin);
    now = 4_999;
    expect(gateway().open(id, place)).toEqual(origin);
    now = 5_000;
    expect(gateway().open(id, place)).toBeUndefined();
    now = 1_000;
  });

  it('no id is issued where the backend gave one of several KiB', () => {
    expect(gateway().issue({ ...task, id: 'x'.repeat(3_000) }, place)).toBeUndefined();
  });

  it('an id with any one character changed, added or removed does not open', () => {
    verifies('gateway:tasks:ids');
    const id = issued();
    const others = [...id].flatMap((character, at) => [
      `${id.slice(0, at)}${character === 'A' ? 'B' : 'A'}${id.slice(at + 1)}`,
      `${id.slice(0, at)}A${id.slice(at)}`,
      `${id.slice(0, at)}${id.slice(at + 1)}`,
    ]);
    const opened = others.filter((other) => other !== id && gateway().open(other, place) !== undefined);
    expect(opened).toEqual([]);
  });

  it('whatever a client sends as an id opens nothing and breaks nothing', () => {
    const hostile = fc.oneof(awkwardText, fc.string({ maxLength: 9_000 }), fc.base64String());
    holds(
      fc.property(hostile, (text) => {
        expect(gateway().open(text, place)).toBeUndefined();
        expect(gateway().open(`1${text}`, place)).toBeUndefined();
      }),
    );
  });

  it('whatever a backend calls its tasks and tools comes back as it was', () => {
    holds(
      fc.property(awkwardText, awkwardText, (id, tool) => {
        const origin = { ...task, id, tool };
        expect(gateway().open(issued(origin), place)).toEqual(origin);
      }),
    );
  });
});
