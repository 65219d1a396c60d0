import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { keyFileAt } from '../../src/app/key-files.ts';
import { listKeys, newKey, revokeKey } from '../../src/cli/key-command.ts';
import { Failure } from '../../src/errors/failure.ts';
import { KeyRequestError } from '../../src/identity/key-file.ts';
import { Keys } from '../../src/identity/keys.ts';
import { TestTime } from './support.ts';

let directory: string;
let file: string;
let said: string[];
let remarks: string[];
const time = new TestTime();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'bascule-keys-'));
  file = join(directory, 'keys.json');
  said = [];
  remarks = [];
});
afterEach(() => rmSync(directory, { recursive: true }));

const command = () => ({
  file,
  say: (text: string) => said.push(text),
  remark: (text: string) => remarks.push(text),
  now: () => time.now(),
});
const open = () => new Keys({ file: keyFileAt(file), time, warn: () => undefined });

describe('bascule key', () => {
  test('new creates a valid key, prints it once, and makes the file readable by its owner only', () => {
    newKey('alice', { scopes: ['mcp:read', 'mcp:read'], expires: '90d' }, command());
    const [key] = said;
    expect(said).toHaveLength(1);
    expect(remarks.join()).not.toContain(key!.slice(17));
    expect(open().find(key!)).toMatchObject({
      keyName: 'alice',
      scopes: new Set(['mcp:read']),
      expiresAt: time.now() + 90 * 86_400_000,
    });
    expect(readFileSync(file, 'utf8')).not.toContain(key!.slice(17));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['keys.json']);
  });

  test('list shows everything but the secret', () => {
    newKey('alice', { expires: '2026-12-31' }, command());
    newKey('bob', { scopes: ['a', 'b'] }, command());
    const keys = said.splice(0);
    listKeys(command());
    expect(said).toHaveLength(2);
    expect(said[0]).toMatch(/^[0-9a-f]{12} {2}alice {2}scopes: none {2}made 2026-07-28\S+ {2}until 2026-12-31/);
    expect(said[1]).toContain('bob  scopes: a b');
    for (const key of keys) expect(said.join()).not.toContain(key.slice(17));
  });

  test('list of an empty file prints a message', () => {
    listKeys(command());
    expect(said).toEqual([]);
    expect(remarks).toHaveLength(1);
  });

  test('revoke removes one key by its id, and all keys of a name', () => {
    for (const name of ['alice', 'alice', 'bob']) newKey(name, {}, command());
    const [first, second, third] = said.splice(0) as [string, string, string];
    const keys = open();
    const opens = (key: string) => !(keys.find(key) instanceof Failure);
    revokeKey(first.slice(4, 16), command());
    keys.reload();
    expect([first, second, third].map(opens)).toEqual([false, true, true]);
    revokeKey('alice', command());
    keys.reload();
    expect([first, second, third].map(opens)).toEqual([false, false, true]);
    expect(said).toHaveLength(2);
  });

  const refused = [
    { name: 'an invalid name', attempt: () => newKey('a b', {}, command()) },
    { name: 'an invalid scope', attempt: () => newKey('a', { scopes: ['x y'] }, command()) },
    { name: 'a time that is over', attempt: () => newKey('a', { expires: '2020-01-01' }, command()) },
    { name: 'an invalid time', attempt: () => newKey('a', { expires: 'soon' }, command()) },
    { name: 'a number without a unit', attempt: () => newKey('a', { expires: '90' }, command()) },
    { name: 'revoking an unknown key', attempt: () => revokeKey('carol', command()) },
  ];
  test.each(refused)('refuses $name, and leaves the file as it was', ({ attempt }) => {
    newKey('alice', {}, command());
    const before = readFileSync(file, 'utf8');
    expect(attempt).toThrow(expect.objectContaining({ name: 'ListFileError' }));
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(readdirSync(directory)).toEqual(['keys.json']);
  });

  test('blames the arguments, not the file', () => {
    const attempts = [
      () => newKey('bad name!', {}, command()),
      () => newKey('a', { scopes: ['x y'] }, command()),
      () => newKey('a', { expires: 'soon' }, command()),
    ];
    for (const attempt of attempts) expect(attempt).toThrow(KeyRequestError);
    expect(attempts[0]).toThrow('`bad name!` cannot be the name of a key');
  });

  test('changes neither a broken file nor one that another process is changing', () => {
    writeFileSync(file, 'mine');
    expect(() => newKey('alice', {}, command())).toThrow('it is not JSON');
    expect(readFileSync(file, 'utf8')).toBe('mine');
    rmSync(file);
    writeFileSync(`${file}.new`, '');
    expect(() => newKey('alice', {}, command())).toThrow('another process is changing it');
    expect(readdirSync(directory)).toEqual(['keys.json.new']);
  });
});
