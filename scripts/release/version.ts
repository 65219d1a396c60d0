/**
 * The version is that of package.json. Every other place that has it is a row of this table.
 *
 *     tsx scripts/release/version.ts 0.2.0     writes it everywhere, and names the section of the changelog after it
 *     tsx scripts/release/version.ts --check   fails where a place has another version
 */
import { readFileSync, writeFileSync } from 'node:fs';

interface VersionPlace {
  readonly file: string;
  /** Its groups are what stands before and after the version. */
  readonly pattern: RegExp;
}

const places: readonly VersionPlace[] = [
  { file: 'package.json', pattern: /^( {2}"version": ")[^"]+(")/m },
  { file: 'package-lock.json', pattern: /^( {2}"version": ")[^"]+(")/m },
  { file: 'package-lock.json', pattern: /^( {6}"version": ")[^"]+(")/m },
  { file: 'deploy/helm/bascule/Chart.yaml', pattern: /^(version: )\S+()$/m },
  { file: 'deploy/helm/bascule/Chart.yaml', pattern: /^(appVersion: ")[^"]+(")/m },
  { file: 'src/wire/about.ts', pattern: /(version: ')[^']+(')/ },
];

const unreleased = '## Unreleased\n';
const [wanted] = process.argv.slice(2);
const { version }: { readonly version: string } = JSON.parse(readFileSync('package.json', 'utf8'));

if (wanted === '--check') {
  for (const { file, pattern } of places) {
    if (withVersion(file, pattern, version) === readFileSync(file, 'utf8')) continue;
    console.error(
      `${file} has another version than package.json, ${version}: tsx scripts/release/version.ts ${version}`,
    );
    process.exitCode = 1;
  }
} else if (wanted === undefined || !/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/.test(wanted)) {
  console.error('Usage: tsx scripts/release/version.ts <major.minor.patch> | --check');
  process.exitCode = 1;
} else {
  for (const { file, pattern } of places) writeFileSync(file, withVersion(file, pattern, wanted));
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  if (!changelog.includes(`\n## ${wanted} `)) {
    const title = `${unreleased}\n## ${wanted} (${new Date().toISOString().slice(0, 10)})\n`;
    writeFileSync('CHANGELOG.md', changelog.replace(unreleased, title));
  }
}

function withVersion(file: string, pattern: RegExp, to: string): string {
  const text = readFileSync(file, 'utf8');
  if (!pattern.test(text)) throw new Error(`${file} has no version where it is expected`);
  return text.replace(pattern, `$1${to}$2`);
}
