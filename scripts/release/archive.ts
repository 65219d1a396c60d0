/** The archive for machines without Node: the installed package, Node beside it, and a program that starts both. */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { run } from './run.ts';

/** The Node that is in the archive and in the image: the newest LTS release. The Dockerfile names its major version. */
export const nodeVersion = '24.21.0';

export const platforms = ['linux-x64', 'linux-arm64'] as const;
export type Platform = (typeof platforms)[number];

const launcher = `#!/bin/sh
# Finds itself through links, so that one in /usr/local/bin works.
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in
    /*) self=$link ;;
    *) self=$(dirname "$self")/$link ;;
  esac
done
here=$(cd "$(dirname "$self")" && pwd -P)
exec "$here/node/bin/node" "$here/lib/node_modules/bascule/bin/bascule.js" "$@"
`;

/** Returns the file. `tarball`: the package, as npm packs it. */
export function archive(tarball: string, version: string, platform: Platform, outdir: string): string {
  const draft = mkdtempSync(join(tmpdir(), 'bascule-archive-'));
  try {
    const name = `bascule-${version}-${platform}`;
    const folder = join(draft, name);
    const lib = join(folder, 'lib');
    mkdirSync(lib, { recursive: true });
    const [os = '', cpu = ''] = platform.split('-');
    const forPlatform = [`--os=${os}`, `--cpu=${cpu}`, '--libc=glibc'];
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--no-save'];
    run('npm', ['install', '--prefix', lib, ...quiet, ...forPlatform, resolve(tarball)]);
    dropUnused(lib);
    const node = unpackedNode(draft, platform);
    for (const file of ['bin/node', 'LICENSE']) cpSync(join(node, file), join(folder, 'node', file));
    if (platform === `${process.platform}-${process.arch}`) compiledBy(join(folder, 'node', 'bin', 'node'), lib);
    for (const file of ['LICENSE', 'README.md', 'THIRD-PARTY-NOTICES.md'])
      cpSync(join(lib, 'node_modules', 'bascule', file), join(folder, file));
    writeFileSync(join(folder, 'bascule'), launcher);
    chmodSync(join(folder, 'bascule'), 0o755);
    const file = resolve(outdir, `${name}.tar.gz`);
    const anonymous = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name', '--mtime=@0'];
    run('tar', ['-czf', file, ...anonymous, '-C', draft, name]);
    return file;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Of dependencies: source maps, types, and native code for another C library or for one version of another Node. */
function dropUnused(lib: string): void {
  const modules = join(lib, 'node_modules');
  for (const file of readdirSync(modules, { recursive: true, encoding: 'utf8' })) {
    if (file.startsWith('bascule/')) continue;
    const isForOther = /\.node$/.test(file) && !file.endsWith('.napi.glibc.node') && !/\/node\.napi\.node$/.test(file);
    if (isForOther || /\.map$|\.d\.[cm]?ts$/.test(file)) rmSync(join(modules, file), { force: true });
  }
}

/** npm compares what it loads with the registry's hash. */
function unpackedNode(folder: string, platform: Platform): string {
  run('npm', ['pack', '--silent', '--pack-destination', folder, `node-${platform}@${nodeVersion}`]);
  run('tar', ['-xzf', join(folder, `node-${platform}-${nodeVersion}.tgz`), '-C', folder]);
  return join(folder, 'package');
}

/** The code cache is of use to the very Node that has written it (docs/decisions/0017-start-up.md). */
function compiledBy(node: string, lib: string): void {
  run(node, ['scripts/code-cache.js', join(lib, 'node_modules', 'bascule', 'dist')]);
}
