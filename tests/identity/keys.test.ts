import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { addKey, type NewKey, removeKeys } from '../../src/identity/key-book.ts';
import { type KeyFile, readKeyFile, writeKeyFile } from '../../src/identity/key-file.ts';
import { Keys } from '../../src/identity/keys.ts';
import { TestTime } from './support.ts';

class Desk {
  readonly time = new TestTime();
  readonly warnings: string[] = [];
  file: KeyFile | undefined;
  text: string | undefined;
  #stamps = 0;
  #stamp: string | undefined;
  reads = 0;

  make(name: string, more: Partial<NewKey> = {}): string {
    const random = { bytes: randomBytes, now: () => this.time.now() };
    const { file, key } = addKey(this.file, { name, scopes: [], ...more }, random);
    this.save(file);
    return key;
  }

  save(file: KeyFile): void {
    this.file = file;
    this.write(writeKeyFile(file));
  }

  write(text: string | undefined): void {
    this.text = text;
    this.#stamp = text === undefined ? undefined : String(++this.#stamps);
  }

  open(): Keys {
    return new Keys({
      time: this.time,
      warn: (text, facts) => this.warnings.push(`${text} ${JSON.stringify(facts)}`),
      file: {
        stamp: () => this.#stamp,
        read: () => {
          this.reads += 1;
          return this.text!;
        },
      },
    });
  }
}

function outcome(keys: Keys, key: string): string {
  const found = keys.find(key);
  return found instanceof Failure ? found.reason : found.key;
}

describe('a key', () => {
  test('authenticates the principal of its name, with its scopes', () => {
    const desk = new Desk();
    const key = desk.make('team-blue', { scopes: ['mcp:read', 'mcp:write'] });
    expect(desk.open().find(key)).toMatchObject({
      key: '["key","team-blue"]',
      kind: 'key',
      keyName: 'team-blue',
      scopes: new Set(['mcp:read', 'mcp:write']),
    });
  });

  test('replaces another of the same name', () => {
    const desk = new Desk();
    const old = desk.make('alice');
    const young = desk.make('alice');
    const keys = desk.open();
    expect(outcome(keys, old)).toBe(outcome(keys, young));
    expect(old).not.toBe(young);
  });

  test('is not in the file, nor is anything that authenticates', () => {
    const desk = new Desk();
    const key = desk.make('alice');
    const secret = key.split('_').slice(2).join('_');
    expect(desk.text).not.toContain(secret);
    const { hash, id } = desk.file!.keys[0]!;
    expect(outcome(desk.open(), `bsc_${id}_${hash}`)).toBe('key_unknown');
  });

  test('is refused where anything of it is wrong', () => {
    const desk = new Desk();
    const key = desk.make('alice');
    const other = desk.make('bob');
    const keys = desk.open();
    const last = key.at(-1) === 'A' ? 'E' : 'A';
    const wrong = [
      ...[`${key.slice(0, -1)}${last}`, `${other.slice(0, 17)}${key.slice(17)}`, `${key}x`, key.slice(0, -1)],
      ...[key.toUpperCase(), ` ${key}`, `${key}\n`, key.replace('bsc_', ''), 'bsc_', '', '\0', '__proto__'],
      `bsc_constructor0_${'A'.repeat(43)}`,
    ];
    for (const text of wrong) expect(outcome(keys, text)).toBe('key_unknown');
  });

  test('expires, and only its holder is told', () => {
    const desk = new Desk();
    const key = desk.make('alice', { expiresAt: desk.time.now() + 1000 });
    const keys = desk.open();
    const principal = keys.find(key);
    if (principal instanceof Failure) throw principal;
    expect(principal.expiresAt).toBe(desk.time.now() + 1000);
    desk.time.move(999);
    expect(keys.stillGood(principal)).toBe(true);
    desk.time.move(1);
    expect(outcome(keys, key)).toBe('key_expired');
    expect(keys.stillGood(principal)).toBe(false);
    expect(outcome(keys, `${key.slice(0, 17)}${'A'.repeat(43)}`)).toBe('key_unknown');
  });
});

describe('the key file', () => {
  test('is read again only when it changes', () => {
    const desk = new Desk();
    const alice = desk.make('alice');
    const keys = desk.open();
    keys.watch();
    desk.time.move(2000);
    desk.time.move(2000);
    expect(desk.reads).toBe(1);
    const bob = desk.make('bob');
    expect(outcome(keys, bob)).toBe('key_unknown');
    desk.time.move(2000);
    expect(outcome(keys, bob)).toBe('["key","bob"]');
    const principal = keys.find(alice);
    if (principal instanceof Failure) throw principal;
    desk.save(removeKeys(desk.file!, 'alice').file);
    desk.time.move(2000);
    expect(outcome(keys, alice)).toBe('key_unknown');
    expect(keys.stillGood(principal)).toBe(false);
    keys.close();
    expect(desk.time.waits).toBe(0);
  });

  const brokenOnes = [
    { name: 'half of it', break: (text: string) => text.slice(0, text.length / 2) },
    { name: 'no JSON', break: () => 'keys: []' },
    { name: 'nothing', break: () => '' },
    { name: 'a member too many', break: (text: string) => text.replace('"version"', '"extra": 1, "version"') },
    { name: 'another version', break: (text: string) => text.replace('"version": 1', '"version": 2') },
    { name: 'an invalid date', break: (text: string) => text.replace(/"created": "[^"]*"/, '"created": "soon"') },
    {
      name: 'one id twice',
      break: (text: string) => {
        const file = readKeyFile(text);
        return writeKeyFile({ ...file, keys: [...file.keys, ...file.keys] });
      },
    },
    { name: 'far too much', break: () => ' '.repeat(5 * 1024 * 1024) },
  ];
  test.each(brokenOnes)('that is broken ($name) changes nothing, and is reported once', ({ break: broken }) => {
    const desk = new Desk();
    const key = desk.make('alice');
    const keys = desk.open();
    desk.write(broken(desk.text!));
    keys.reload();
    keys.reload();
    expect(outcome(keys, key)).toBe('["key","alice"]');
    expect(desk.warnings).toHaveLength(1);
    expect(desk.warnings[0]).toContain('the keys from the last successful read stay valid');
    expect(desk.warnings[0]).not.toContain(desk.file!.keys[0]!.hash);
    const bob = desk.make('bob');
    keys.reload();
    expect(outcome(keys, bob)).toBe('["key","bob"]');
  });

  test('that does not exist yet admits no one until it does', () => {
    const desk = new Desk();
    const keys = desk.open();
    expect(desk.warnings).toHaveLength(1);
    expect(outcome(keys, `bsc_${'0'.repeat(12)}_${'A'.repeat(43)}`)).toBe('key_unknown');
    const key = desk.make('alice');
    keys.reload();
    expect(outcome(keys, key)).toBe('["key","alice"]');
  });

  test('that is removed removes its keys', () => {
    const desk = new Desk();
    const key = desk.make('alice');
    const keys = desk.open();
    desk.write(undefined);
    keys.reload();
    expect(outcome(keys, key)).toBe('key_unknown');
    expect(desk.warnings).toHaveLength(1);
  });

  test('that cannot be read changes nothing', () => {
    const time = new TestTime();
    const warnings: unknown[] = [];
    const file = {
      stamp: () => {
        throw Object.assign(new Error('no'), { code: 'EACCES' });
      },
      read: () => '',
    };
    const keys = new Keys({ file, time, warn: (_, facts) => warnings.push(facts) });
    keys.watch();
    time.move(2000);
    expect(warnings.filter((facts) => JSON.stringify(facts) === '{"why":"EACCES"}')).toHaveLength(1);
    keys.close();
  });
});
