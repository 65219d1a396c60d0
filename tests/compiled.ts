/**
 * Compiles a TypeScript program into one file that `node` runs. A test that starts a program several times saves the
 * compiler's start (`--import tsx`) each time, which takes longer than most of these programs run.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const folder = fileURLToPath(new URL('../node_modules/.cache/bascule-tests/programs', import.meta.url));
const files = new Map<string, string>();

/** The compiled file; packages are not part of it. `import.meta.url` is another than in the source. */
export function compiled(source: URL): string {
  const known = files.get(source.href);
  if (known !== undefined) return known;
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    write: false,
  });
  const text = outputFiles.map((file) => file.text).join('');
  const file = join(folder, `${createHash('sha256').update(text).digest('hex').slice(0, 16)}.mjs`);
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    // Another test worker may write the same file, or run it already.
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, text);
    renameSync(draft, file);
  }
  files.set(source.href, file);
  return file;
}
