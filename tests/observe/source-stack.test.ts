import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { sourceStack } from '../../src/observe/source-stack.ts';

describe('a stack trace in the log', () => {
  test('names the source of a bundle that has a map', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-stack-'));
    writeFileSync(
      join(folder, 'source.ts'),
      'type T = string;\n\nexport const fail = (): T => {\n  throw new Error("broken");\n};\n',
    );
    const outfile = join(folder, 'bundle.js');
    await build({ entryPoints: [join(folder, 'source.ts')], outfile, format: 'esm', sourcemap: true, minify: true });
    // In a process of its own: the runner of tests maps stacks itself.
    const script = `import('${pathToFileURL(outfile).href}').then(({ fail }) => { try { fail(); } catch (e) { console.log(e.stack); } })`;
    const thrown = new Error('broken');
    thrown.stack = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect(thrown.stack).toContain('bundle.js:1:');
    expect(sourceStack(thrown)).toMatch(/^Error: broken\n.*\(source\.ts:4:9\)/);
  });

  test('is left as it is where there is no map', () => {
    const error = new Error('broken');
    error.stack = 'Error: broken\n    at f (file:///nowhere/x.js:1:2)';
    expect(sourceStack(error)).toBe(error.stack);
  });

  test('of a value that is no error is its text', () => {
    expect([sourceStack('a'), sourceStack(undefined)]).toEqual(['a', 'undefined']);
  });
});
