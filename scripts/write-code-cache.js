// Usage, by scripts/code-cache.js: write-code-cache.js <folder> [arguments of bascule]
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [outdir] = process.argv.splice(2, 1);
const { script, withDigest } = createRequire(import.meta.url)(join(outdir, 'main.js'));
process.once('message', () => {
  writeFileSync(join(outdir, 'bascule.js.cache'), withDigest(script.createCachedData()));
  process.exit();
});
