import { mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type AuditRecord, auditedPrincipal } from '../../src/observe/audit.ts';
import { addAuditLine } from '../../src/observe/audit-line.ts';
import { recordArguments, usualSecrets } from '../../src/observe/audit-redact.ts';
import { auditSink, RotatingFile } from '../../src/observe/audit-sinks.ts';
import { type AuditSink, AuditWriter } from '../../src/observe/audit-writer.ts';
import { LineBuffer } from '../../src/observe/line-buffer.ts';
import { token } from '../policy/setup.ts';

const record = (name: string): AuditRecord => ({
  ...{ time: '2026-01-01T00:00:00.000Z', decision: 'allow', rules: ['a'], generation: 1, principal: { kind: 'local' } },
  ...{ endpoint: '/mcp', action: 'call', name },
});

function auditLine(given: AuditRecord): string {
  const lines = new LineBuffer(64);
  addAuditLine(lines, given);
  return lines.take();
}

/** A sink that takes lines when the test says so. */
function heldSink() {
  const written: string[] = [];
  const waiting: { take(): void; fail(): void }[] = [];
  const sink: AuditSink = {
    write: (lines) =>
      new Promise((resolve, reject) => {
        waiting.push({
          take: () => {
            written.push(lines);
            resolve();
          },
          fail: () => reject(new Error('disk full')),
        });
      }),
    close: async () => undefined,
  };
  const next = async () => {
    while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    return waiting.shift()!;
  };
  return {
    sink,
    next,
    names: () => written.flatMap((lines) => lines.trim().split('\n')).map((line) => JSON.parse(line)),
  };
}

function writerFor(sink: AuditSink, queueBytes?: number) {
  const lost: string[] = [];
  const writer = new AuditWriter({
    sink,
    now: () => 0,
    after: (_, action) => {
      const timer = setImmediate(action);
      return () => clearImmediate(timer);
    },
    lost: (count, why) => lost.push(`${count} ${why}`),
    ...(queueBytes === undefined ? {} : { queueBytes }),
  });
  return { writer, lost };
}

describe('records', () => {
  test('are written in order, those of one event-loop tick together', async () => {
    const held = heldSink();
    const { writer } = writerFor(held.sink);
    for (const name of ['a', 'b']) writer.write(record(name));
    const first = await held.next();
    writer.write(record('c'));
    first.take();
    (await held.next()).take();
    await writer.close(1_000);
    expect(held.names().map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(held.names()[0]).toEqual(record('a'));
  });

  test('that find no room are counted, and the count is written', async () => {
    const held = heldSink();
    const { writer, lost } = writerFor(held.sink, 4 * JSON.stringify(record('a')).length + 10);
    for (const name of ['a', 'b', 'c', 'd']) writer.write(record(name));
    expect(lost).toEqual(['1 full', '1 full']);
    (await held.next()).take();
    writer.write(record('e'));
    (await held.next()).take();
    await writer.close(1_000);
    expect(held.names().map((one) => one.name ?? one.lost)).toEqual([2, 'a', 'b', 'e']);
  });

  test('find room by their bytes, however many characters these are', async () => {
    const held = heldSink();
    const wide = '\u20ac'.repeat(100);
    const bytes = Buffer.byteLength(auditLine(record(wide)));
    // The first half of the queue is open to all.
    const { writer, lost } = writerFor(held.sink, 2 * bytes);
    writer.write(record(wide));
    writer.write(record(wide));
    expect(lost).toEqual(['1 full']);
    (await held.next()).take();
    await writer.close(1_000);
    expect(held.names()).toMatchObject([{ lost: 1 }, record(wide)]);
  });

  test('that found no room leave nothing in the lines of others', async () => {
    const held = heldSink();
    const { writer, lost } = writerFor(held.sink, 2 * Buffer.byteLength(auditLine(record('a'))) + 10);
    writer.write(record('a'));
    // More than the buffer has.
    writer.write({ ...record('b'), arguments: '\u20ac\n'.repeat(100_000) });
    expect(lost).toEqual(['1 full']);
    (await held.next()).take();
    writer.write(record('c'));
    (await held.next()).take();
    await writer.close(1_000);
    expect(held.names()).toMatchObject([{ lost: 1 }, { name: 'a' }, { name: 'c' }]);
  });

  test('that could not be written are counted, and the next ones still go', async () => {
    const held = heldSink();
    const { writer, lost } = writerFor(held.sink);
    writer.write(record('a'));
    (await held.next()).fail();
    while (lost.length === 0) await Promise.resolve();
    writer.write(record('b'));
    (await held.next()).take();
    await writer.close(1_000);
    expect(lost).toEqual(['1 failed']);
    expect(held.names().map((one) => one.name ?? one.lost)).toEqual([1, 'b']);
  });

  test('are not waited for without end', async () => {
    const held = heldSink();
    const { writer, lost } = writerFor(held.sink);
    writer.write(record('a'));
    const first = await held.next();
    writer.write(record('b'));
    await writer.close(1);
    writer.write(record('c'));
    expect(lost).toEqual(['2 full', '1 full']);
    // Told already.
    first.fail();
    await new Promise((resolve) => setImmediate(resolve));
    expect(lost).toHaveLength(2);
  });

  test('are one line each, whatever they contain', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant('"\\\u2028\n\ud800'));
    const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined });
    const records = fc.record({
      time: fc.constant('2026-01-01T00:00:00.000Z'),
      decision: fc.constantFrom('allow' as const, 'deny' as const),
      reason: maybe(text),
      rules: fc.array(text, { maxLength: 3 }),
      wouldDeny: maybe(fc.array(text, { maxLength: 2 })),
      wouldAllow: maybe(fc.array(text, { maxLength: 2 })),
      generation: fc.nat(),
      principal: fc.record({ kind: text, issuer: maybe(text), subject: maybe(text) }),
      revision: maybe(text),
      endpoint: text,
      address: maybe(text),
      backend: maybe(text),
      action: maybe(text),
      name: maybe(text),
      names: maybe(fc.array(text, { maxLength: 3 })),
      nameCount: maybe(fc.nat()),
      deniedNames: maybe(fc.array(text, { maxLength: 3 })),
      deniedCount: maybe(fc.nat()),
      durationMs: maybe(
        fc.oneof(
          fc.nat(),
          fc.nat().map((micros) => micros / 1_000),
        ),
      ),
      outcome: fc.constantFrom('result' as const, 'error' as const),
      traceId: maybe(text),
      arguments: maybe(fc.jsonValue()),
    });
    fc.assert(
      fc.property(records, (given) => {
        expect(auditLine(given)).toBe(`${JSON.stringify(given)}\n`);
      }),
    );
  });

  test('hold the beginning of a name that is too long, and its length', () => {
    const { name, nameLength } = JSON.parse(auditLine(record('x'.repeat(100_000))));
    expect({ name, nameLength }).toEqual({ name: 'x'.repeat(1024), nameLength: 100_000 });
    const longest = record('y'.repeat(1024));
    expect(JSON.parse(auditLine(longest))).toEqual(longest);
  });

  test.each([
    { name: 'a pair of surrogates', text: `x${'\u{1f600}'.repeat(600)}` },
    { name: 'a control character', text: `${'x'.repeat(1_023)}\n${'x'.repeat(10)}` },
    { name: 'a backslash', text: `${'x'.repeat(1_023)}\\"}\n{` },
  ])('can be read where a name is cut in or after $name', ({ text }) => {
    const parts = { names: [text], deniedNames: [text.slice(768)] };
    const line = auditLine({ ...record(text), ...parts });
    expect(line.indexOf('\n')).toBe(line.length - 1);
    expect(JSON.parse(line)).toMatchObject({
      ...{ name: text.slice(0, 1_024), nameLength: text.length },
      ...{ names: [text.slice(0, 256)], deniedNames: [text.slice(768, 1_024)] },
    });
  });

  test('name a principal without its claims', () => {
    const principal = token({ sub: 'alice', client_id: 'app', secret: 's' });
    expect(JSON.parse(JSON.stringify(auditedPrincipal(principal)))).toEqual({
      ...{ kind: 'token', issuer: 'https://login.example', subject: 'alice', clientId: 'app' },
    });
  });
});

describe('a record file', () => {
  const directories: string[] = [];
  afterEach(async () => {
    for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
  });
  const newDirectory = async () => {
    const directory = await mkdtemp(join(tmpdir(), 'audit-'));
    directories.push(directory);
    return directory;
  };

  test('is rotated by its size, and the oldest is deleted', async () => {
    const directory = await newDirectory();
    const path = join(directory, 'a.jsonl');
    const file = new RotatingFile(path, 10, 2);
    for (const line of ['11111\n', '22222\n', '33333\n', '44444\n']) await file.write(line);
    await file.close();
    expect((await readdir(directory)).sort()).toEqual(['a.jsonl', 'a.jsonl.1', 'a.jsonl.2']);
    const texts = ['', '.1', '.2'].map((end) => readFile(`${path}${end}`, 'utf8'));
    expect(await Promise.all(texts)).toEqual(['44444\n', '33333\n', '22222\n']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('is gone on with after a restart', async () => {
    const path = join(await newDirectory(), 'a.jsonl');
    for (const line of ['1\n', '2\n']) {
      const file = new RotatingFile(path, 100, 1);
      await file.write(line);
      await file.close();
    }
    expect(await readFile(path, 'utf8')).toBe('1\n2\n');
  });

  test('that ends in half a line, after a crash, goes on with a new one', async () => {
    const path = join(await newDirectory(), 'a.jsonl');
    await writeFile(path, '{"half":');
    const file = new RotatingFile(path, 100, 1);
    await file.write('1\n');
    await file.close();
    expect(await readFile(path, 'utf8')).toBe('{"half":\n1\n');
  });

  test('keeps no half line where the disk is full', async () => {
    const path = join(await newDirectory(), 'a.jsonl');
    const file = new RotatingFile(path, 100, 1);
    await file.write('1\n');
    const handle = await open(path, 'a');
    const append = vi.spyOn(Object.getPrototypeOf(handle), 'appendFile');
    append.mockImplementationOnce(async () => {
      await handle.write('{"cut');
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
    });
    await expect(file.write('{"cut":1}\n')).rejects.toThrow('no space');
    append.mockRestore();
    await file.write('2\n');
    await file.close();
    await handle.close();
    expect(await readFile(path, 'utf8')).toBe('1\n2\n');
  });

  test('that cannot be opened loses its lines and reports it', async () => {
    const file = new RotatingFile(join(await newDirectory(), 'no', 'a.jsonl'), 100, 1);
    await expect(file.write('x\n')).rejects.toThrow('ENOENT');
  });
});

test('records never go to the stdout that the protocol is on', async () => {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
  await auditSink({ kind: 'stdout' }, streams, true).write('x\n');
  expect(streams.stdout.read()).toBeNull();
  expect(String(streams.stderr.read())).toBe('x\n');
  await auditSink({ kind: 'stdout' }, streams, false).write('y\n');
  expect(String(streams.stdout.read())).toBe('y\n');
});

describe('a stream whose reader disconnected', () => {
  const broken = () => new Writable({ write: (_chunk, _encoding, done) => done(new Error('write EPIPE')) });

  test('loses its lines and reports it', async () => {
    const stderr = broken();
    const { writer, lost } = writerFor(auditSink({ kind: 'stderr' }, { stdout: new PassThrough(), stderr }, false));
    writer.write(record('a'));
    await writer.close(1_000);
    expect(lost).toEqual(['1 failed']);
  });

  test('has one error listener, however many sinks there were', () => {
    const stderr = broken();
    for (let i = 0; i < 3; i++) auditSink({ kind: 'stderr' }, { stdout: new PassThrough(), stderr }, false);
    expect(stderr.listenerCount('error')).toBe(1);
  });
});

describe('arguments in a record', () => {
  const recorded = (redact: readonly string[], value: unknown, maxBytes = 1_000) =>
    recordArguments({ of: ['db_*'], redact, maxBytes })('db_query', () => value);

  test('are there only where the config names the tool, and else not even read', () => {
    const never = () => {
      throw new Error('it was read');
    };
    expect(recordArguments(undefined)('db_query', never)).toBeUndefined();
    expect(recordArguments({ of: ['db_*'], redact: [], maxBytes: 10 })('other', never)).toBeUndefined();
    expect(recorded([], { a: 1 })).toEqual({ a: 1 });
  });

  test('have stars where the paths lead', () => {
    const value = { a: { b: 1, c: 2 }, list: [{ token: 't', n: 1 }], API_KEY: 'k' };
    expect(recorded(['a.b'], value)).toMatchObject({ a: { b: '***', c: 2 } });
    expect(recorded(['a.*'], value)).toMatchObject({ a: { b: '***', c: '***' } });
    expect(recorded(['list.*.token'], value)).toMatchObject({ list: [{ token: '***', n: 1 }] });
    expect(recorded(usualSecrets, value)).toEqual({ ...value, list: [{ token: '***', n: 1 }], API_KEY: '***' });
    expect(recorded(['**'], value)).toBe('***');
    expect(recorded(['a'], { a: { deep: { secret: 1 } } })).toEqual({ a: '***' });
  });

  test('that are too large are a number', () => {
    expect(recorded([], { a: 'x'.repeat(100) }, 50)).toEqual({ '***': '108 bytes' });
  });
});
