import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigSource } from '../../../src/app/reload/config-source.ts';
import { ConfigError } from '../../../src/config/problems.ts';

test('a file that cannot even be looked at has changed, and changes again when it is back', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-source-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'bascule.yaml');
  const config = JSON.stringify({ backends: { b: { url: 'http://127.0.0.1:1/mcp' } } });
  writeFileSync(path, config);
  const readFile = (name: string) => readFileSync(name, 'utf8');
  const source = new ConfigSource({ path, cwd: folder, env: {}, readFile, overrides: {} });
  source.load();
  expect(source.hasChanged).toBe(false);
  rmSync(path);
  // ELOOP: there is an entry, and no way to what it stands for.
  symlinkSync(path, path);
  expect(source.hasChanged).toBe(true);
  expect(() => source.load(2)).toThrow(ConfigError);
  expect(source.hasChanged).toBe(false);
  rmSync(path);
  writeFileSync(path, config);
  expect(source.hasChanged).toBe(true);
});
