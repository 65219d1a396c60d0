import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/errors.ts';
import { loadSecret } from '../../src/store/secret.ts';
import { compiled } from '../compiled.ts';
import { verifies } from '../requirements/verifies.ts';
import { temporaryDirectory } from './file/directory.ts';

describe("the gateway's own key", verifies('gateway:store:private'), () => {
  it('is the configured one, and then no file is written', () => {
    const dir = join(temporaryDirectory(), 'store');
    expect(loadSecret({ configured: 'chosen', dir })).toBe('chosen');
    expect(existsSync(dir)).toBe(false);
  });

  it('is generated once, for this user alone, and stays', () => {
    const dir = join(temporaryDirectory(), 'store');
    const secret = loadSecret({ configured: undefined, dir });
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
    expect(loadSecret({ configured: undefined, dir })).toBe(secret);
    expect(statSync(join(dir, 'key')).mode & 0o777).toBe(0o600);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(readdirSync(dir)).toEqual(['key']);
    expect(loadSecret({ configured: undefined, dir: temporaryDirectory() })).not.toBe(secret);
  });

  it('is the same for processes that start at once', async () => {
    const dir = temporaryDirectory();
    const module = pathToFileURL(compiled(new URL('../../src/store/secret.ts', import.meta.url))).href;
    const code = `import(${JSON.stringify(module)}).then(({ loadSecret }) => console.log(loadSecret({ dir: process.argv[1] })))`;
    const run = () => promisify(execFile)(process.execPath, ['-e', code, dir]);
    const secrets = (await Promise.all([run(), run(), run()])).map(({ stdout }) => stdout.trim());
    expect(new Set(secrets)).toEqual(new Set([readFileSync(join(dir, 'key'), 'utf8').trim()]));
    expect(readdirSync(dir)).toEqual(['key']);
  }, 30_000);

  const refused = [
    { name: 'one that the group can read', kind: 'exposed', make: (path: string) => exposed(path, 0o640) },
    { name: 'one that others can write', kind: 'exposed', make: (path: string) => exposed(path, 0o602) },
    { name: 'an empty one', kind: 'foreign', make: (path: string) => writeFileSync(path, '', { mode: 0o600 }) },
    {
      name: 'a large one',
      kind: 'foreign',
      make: (path: string) => writeFileSync(path, 'k'.repeat(5000), { mode: 0o600 }),
    },
    { name: 'a directory', kind: 'unusable', make: (path: string) => mkdirSync(path) },
  ];
  for (const { name, kind, make } of refused) {
    it(`is rejected by name: ${name}`, () => {
      const dir = temporaryDirectory();
      make(join(dir, 'key'));
      const load = () => loadSecret({ configured: undefined, dir });
      expect(load).toThrow(StoreError);
      expect(load).toThrow(expect.objectContaining({ kind }));
    });
  }
});

function exposed(path: string, mode: number): void {
  writeFileSync(path, 'k'.repeat(43));
  chmodSync(path, mode);
}
