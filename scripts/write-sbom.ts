/**
 * Writes the SBOM of a release as CycloneDX JSON: what the bundle contains, by the bundler, and what npm adds to it,
 * by the lock file. `npm sbom` knows only the latter: to it, bundled packages are development dependencies.
 *
 *     tsx scripts/write-sbom.ts FILE [--node VERSION]     with --node: of the archive that has Node in it
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { bundledComponents, type Component, installedComponents } from './release/contents.ts';

const {
  positionals: [file],
  values: { node },
} = parseArgs({ allowPositionals: true, options: { node: { type: 'string' } } });
if (file === undefined) throw new Error('Usage: tsx scripts/write-sbom.ts FILE [--node VERSION]');

const { name, version, license } = JSON.parse(readFileSync('package.json', 'utf8'));
const root = { type: 'application', 'bom-ref': purlOf(name, version), name, version, purl: purlOf(name, version) };

/** https://github.com/package-url/purl-spec: the `@` of a scope is encoded. */
function purlOf(packageName: string, packageVersion: string): string {
  return `pkg:npm/${packageName.replace('@', '%40')}@${packageVersion}`;
}

function library(component: Component, place: 'bundled' | 'installed') {
  const [algorithm = '', digest = ''] = component.integrity.split('-');
  if (algorithm !== 'sha512') throw new Error(`${component.folder} has no SHA-512 in package-lock.json`);
  const purl = purlOf(component.name, component.version);
  return {
    type: 'library',
    'bom-ref': purl,
    name: component.name,
    version: component.version,
    scope: 'required',
    hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    licenses: [{ expression: component.license }],
    purl,
    properties: [{ name: 'bascule:place', value: place }],
  };
}

const platform = node === undefined ? [] : [nodeComponent(node)];

function nodeComponent(nodeVersion: string) {
  const purl = `pkg:generic/node@${nodeVersion}`;
  return { type: 'platform', 'bom-ref': purl, name: 'node', version: nodeVersion, scope: 'required', purl };
}

const components = [
  ...(await bundledComponents()).map((component) => library(component, 'bundled')),
  ...installedComponents().map((component) => library(component, 'installed')),
  ...platform,
];
const bom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  serialNumber: `urn:uuid:${uuidOf(JSON.stringify(components))}`,
  version: 1,
  metadata: {
    component: { ...root, licenses: [{ expression: license }] },
    lifecycles: [{ phase: 'build' }],
  },
  components,
  dependencies: [{ ref: root['bom-ref'], dependsOn: components.map((component) => component['bom-ref']) }],
};
writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`);

/** The same contents have the same number (RFC 9562, version 8). */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}
