/**
 * Makes the files of a release in `release/`: the package, the archives with Node, their SBOMs, the section of the
 * changelog, and the checksums of all. docs/releasing.md has the steps before and after it.
 *
 *     tsx scripts/release.ts [--archive linux-x64]... [--unreleased]     with --unreleased: from any commit, to try it
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { archive, nodeVersion, type Platform, platforms } from './release/archive.ts';
import { run } from './release/run.ts';

const { values } = parseArgs({
  options: {
    archive: { type: 'string', multiple: true, default: [] },
    unreleased: { type: 'boolean', default: false },
  },
});
const folder = 'release';
const { version }: { readonly version: string } = JSON.parse(readFileSync('package.json', 'utf8'));
const wanted = values.archive.map(platformNamed);

function platformNamed(name: string): Platform {
  const platform = platforms.find((one) => one === name);
  if (platform === undefined) throw new Error(`--archive ${name} is none of ${platforms.join(', ')}`);
  return platform;
}

/** The section of this version, without its title. */
function notes(): string {
  const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m).slice(1);
  const title = values.unreleased ? 'Unreleased' : `${version} (`;
  const section = sections.find((text) => text.startsWith(title));
  if (section === undefined)
    throw new Error(`CHANGELOG.md has no section ${version}: tsx scripts/release/version.ts ${version} makes it`);
  return section.slice(section.indexOf('\n') + 1).trim();
}

const script = (file: string, ...args: readonly string[]) =>
  run(process.execPath, ['--import', 'tsx', `scripts/${file}`, ...args]);

const text = notes();
script('release/version.ts', '--check');
script('write-notices.ts', '--check');
if (!values.unreleased && run('git', ['status', '--porcelain']) !== '')
  throw new Error('the working tree has changes: a release is made from a commit');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
run(process.execPath, ['scripts/build.js']);
// `prepare` would build once more.
run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]);
writeFileSync(join(folder, 'NOTES.md'), `${text}\n`);
script('write-sbom.ts', join(folder, `bascule-${version}.cdx.json`));
for (const platform of wanted) {
  archive(join(folder, `bascule-${version}.tgz`), version, platform, folder);
  script('write-sbom.ts', join(folder, `bascule-${version}-${platform}.cdx.json`), '--node', nodeVersion);
}
const files = readdirSync(folder).toSorted();
const sums = files.map((file) => {
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, file)))
    .digest('hex');
  return `${digest}  ${file}\n`;
});
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
for (const file of files) console.log(`${folder}/${file}`);
