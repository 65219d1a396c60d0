import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fromPipe } from '../../../src/cli/ask-password.ts';
import { dropUser, listUsers, newPassword, newUser } from '../../../src/cli/user-command.ts';
import { ListFileError } from '../../../src/identity/list-file.ts';
import { hashPassword, isPassword } from '../../../src/oauth/server/passwords.ts';
import { readUserFile } from '../../../src/oauth/server/user-file.ts';
import { Users } from '../../../src/oauth/server/users.ts';
import { verifies } from '../../requirements/verifies.ts';

function folder() {
  const path = mkdtempSync(join(tmpdir(), 'bascule-users-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const said: string[] = [];
  const remarks: string[] = [];
  const file = join(path, 'users.json');
  const command = (password = 'a good long password') => ({
    file,
    say: (text: string) => void said.push(text),
    remark: (text: string) => void remarks.push(text),
    askPassword: async () => password,
    now: () => Date.UTC(2026, 0, 1),
  });
  return { file, said, remarks, command };
}

describe('bascule user', verifies('gateway:authserver:users'), () => {
  test('adds, lists, changes and removes, and the file is readable by its owner only', async () => {
    const { file, said, remarks, command } = folder();
    await newUser('ada', command());
    await newUser('bob@example.com', command());
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await listUsers(command());
    expect(said).toEqual(['ada  added 2026-01-01T00:00:00.000Z', 'bob@example.com  added 2026-01-01T00:00:00.000Z']);
    const before = readUserFile(readFileSync(file, 'utf8')).users[0];
    await newPassword('ada', { ...command('another good password'), now: () => Date.UTC(2026, 1, 1) });
    const after = readUserFile(readFileSync(file, 'utf8')).users[0];
    expect(after?.password).not.toEqual(before?.password);
    expect(await isPassword('another good password', after?.password)).toBe(true);
    expect(after?.changed).toBe('2026-02-01T00:00:00.000Z');
    await dropUser('ada', command());
    expect(readUserFile(readFileSync(file, 'utf8')).users.map(({ name }) => name)).toEqual(['bob@example.com']);
    expect([...said, ...remarks, readFileSync(file, 'utf8')].join('\n')).not.toContain('good');
  });

  const refused = [
    { name: 'a name that is in use', run: 'ada', password: undefined, says: /already/ },
    { name: 'a name with a space', run: 'a b', password: undefined, says: /a name is/ },
    { name: 'an empty name', run: '', password: undefined, says: /a name is/ },
    { name: 'a short password', run: 'eve', password: 'short', says: /8 to 256/ },
    { name: 'a password as long as a book', run: 'eve', password: 'x'.repeat(257), says: /8 to 256/ },
  ];
  test.each(refused)('rejects $name, and changes nothing', async ({ run, password, says }) => {
    const { file, command } = folder();
    await newUser('ada', command());
    const before = readFileSync(file, 'utf8');
    await expect(newUser(run, command(password))).rejects.toThrow(says);
    await expect(newPassword('nobody', command())).rejects.toThrow(/no user nobody/);
    await expect(dropUser('nobody', command())).rejects.toThrow(/no user nobody/);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  test('reads the first line of a pipe', async () => {
    expect(await fromPipe(Readable.from(['a good ', 'password\r\nmore']))).toBe('a good password');
    expect(await fromPipe(Readable.from([Buffer.from('one')]))).toBe('one');
    expect(await fromPipe(Readable.from([]))).toBe('');
  });
});

describe('a user file', verifies('gateway:authserver:sign-in'), () => {
  const faulty = ['', '{', '[]', 'null', '{"version":2,"users":[]}', '{"version":1,"users":[{"name":"x"}]}'];
  test.each(faulty)('that is invalid is reported, and its content is never shown: %s', (text) => {
    expect(() => readUserFile(text)).toThrow(ListFileError);
  });

  test('that breaks leaves the users as they were', async () => {
    const { file, command } = folder();
    await newUser('ada', command());
    const warnings: string[] = [];
    const users = new Users({
      file: { stamp: () => readFileSync(file, 'utf8'), read: () => readFileSync(file, 'utf8') },
      time: { now: Date.now, after: () => () => undefined },
      warn: (text) => void warnings.push(text),
    });
    writeFileSync(file, 'not JSON');
    users.reload();
    users.reload();
    expect(users.find('ada')?.name).toBe('ada');
    expect(warnings).toEqual([
      'the user file cannot be read: the users from the last successful read can still sign in',
    ]);
    users.close();
  });
});

describe('a password', verifies('gateway:authserver:sign-in'), () => {
  test('is accepted in any Unicode normalization, and never for an unknown user', async () => {
    const kept = await hashPassword('pässword');
    expect(await isPassword('pa\u0308ssword', kept)).toBe(true);
    expect(await isPassword('password', kept)).toBe(false);
    expect(await isPassword('', undefined)).toBe(false);
    expect((await hashPassword('pässword')).salt).not.toBe(kept.salt);
  });
});
