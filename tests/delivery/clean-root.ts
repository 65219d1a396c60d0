/**
 * A root directory that has a shell, a few programs of every Linux, and what the test puts there: neither Node nor npm
 * of this machine can be used by accident. Made by bubblewrap. The registry of npm can be reached.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export const project = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const downloads = join(project, 'node_modules', '.cache', 'bascule-delivery');

/** What a shell script needs that unpacks an archive and starts a program. */
const tools = ['sh', 'cat', 'dirname', 'env', 'grep', 'gzip', 'kill', 'ls', 'mkdir', 'readlink', 'rm', 'sleep', 'tar'];
/** So that a program inside trusts the registry as programs outside do. */
const trusted = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'HTTPS_PROXY', 'https_proxy', 'NO_PROXY', 'no_proxy'];

export interface Ended {
  readonly output: string;
  readonly seconds: number;
}

export class CleanRoot {
  /** `/work` inside. */
  readonly folder: string;
  readonly #binds: string[] = [];
  #path = '/usr/bin';

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'bascule-clean-'));
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  /** `node`, and npm for it, both from the registry. */
  addNode(version: string): void {
    const node = fetched(`node-linux-${process.arch}@${version}`);
    const npm = fetched('npm@10.9.9');
    this.#binds.push('--ro-bind', join(node, 'bin'), '/opt/node', '--ro-bind', npm, '/opt/npm');
    mkdirSync(join(this.folder, '.bin'));
    for (const name of ['npm', 'npx'])
      execFileSync('ln', ['-s', `/opt/npm/bin/${name}-cli.js`, join(this.folder, '.bin', name)]);
    this.#path = `/work/.bin:/opt/node:/work/.global/bin:${this.#path}`;
  }

  /** Runs the lines of a shell script, and stops at the first that fails. */
  run(script: string): Ended {
    const begun = process.hrtime.bigint();
    const output = execFileSync('bwrap', [...this.#root(), '/usr/bin/sh', '-ec', script], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 300_000,
    });
    return { output, seconds: Number(process.hrtime.bigint() - begun) / 1e9 };
  }

  #root(): string[] {
    const programs = tools.flatMap((tool) => ['--ro-bind', realpathSync(`/usr/bin/${tool}`), `/usr/bin/${tool}`]);
    const variables = trusted.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : ['--setenv', name, value];
    });
    const settings = {
      PATH: this.#path,
      HOME: '/work',
      npm_config_prefix: '/work/.global',
      npm_config_audit: 'false',
      npm_config_update_notifier: 'false',
    };
    return [
      ...['--unshare-pid', '--die-with-parent', '--clearenv', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
      ...['/usr/lib', '/usr/lib64', '/etc/ssl', '/etc/resolv.conf', '/etc/hosts', '/usr/share/ca-certificates']
        .filter((path) => existsSync(path))
        .flatMap((path) => ['--ro-bind', path, path]),
      ...(existsSync('/usr/lib/node_modules') ? ['--tmpfs', '/usr/lib/node_modules'] : []),
      ...['--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64', '--symlink', 'usr/bin', '/bin'],
      ...[...programs, ...this.#binds, '--bind', this.folder, '/work', '--chdir', '/work'],
      ...[...variables, ...Object.entries(settings).flatMap(([name, value]) => ['--setenv', name, value])],
    ];
  }
}

/** The folder of a package of the registry, which stays for the next run. npm checks its hash. */
export function fetched(spec: string): string {
  const folder = join(downloads, spec);
  if (existsSync(folder)) return join(folder, 'package');
  mkdirSync(downloads, { recursive: true });
  const draft = mkdtempSync(join(downloads, '.draft-'));
  const name = execFileSync('npm', ['pack', '--silent', '--pack-destination', draft, spec], { encoding: 'utf8' });
  execFileSync('tar', ['-xzf', join(draft, name.trim()), '-C', draft]);
  rmSync(join(draft, name.trim()));
  renameSync(draft, folder);
  return join(folder, 'package');
}
