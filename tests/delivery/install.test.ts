/** From nothing to the first answered call, as the README says it. */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../requirements/verifies.ts';
import { CleanRoot, project } from './clean-root.ts';
import { cloneInto, released } from './releases.ts';

const versions = ['20.20.2', '22.23.3', '24.21.0'];

/** The command that answers, in the background, and a call as soon as it does. */
const serveAndCall = (serve: string, bascule: string): string => `
  ${serve} > log 2>&1 &
  tries=0
  until ${bascule} health 2> /dev/null; do
    tries=$((tries + 1)); [ $tries -lt 100 ] || { cat log; exit 1; }
    sleep 0.1
  done
  ${bascule} call echo '{"message": "first call"}'
  kill $!; wait $! || true`;

function told(what: string, seconds: number): void {
  console.log(`${what}: ${seconds.toFixed(1)} s to the first answered call`);
}

describe('on a machine with Node and nothing else', verifies('gateway:delivery:package'), () => {
  it.each(versions)('the package is installed by one command, without scripts, and answers: Node %s', (version) => {
    const root = new CleanRoot();
    root.addNode(version);
    copyFileSync(join(project, 'release', released('tgz')), join(root.folder, 'bascule.tgz'));
    const { output, seconds } = root.run(`
      node --version
      npm install --global --ignore-scripts ./bascule.tgz > /dev/null
      ${serveAndCall('bascule serve --port 0', 'bascule')}`);
    expect(output).toMatch(new RegExp(`^v${version}\n`));
    expect(output).toContain('first call');
    told(`tarball, Node ${version}`, seconds);
  });
});

describe('on a machine without Node', verifies('gateway:delivery:archive'), () => {
  it('the archive is unpacked, and answers', () => {
    const root = new CleanRoot();
    const name = released(`linux-${process.arch}.tar.gz`);
    copyFileSync(join(project, 'release', name), join(root.folder, name));
    const { output, seconds } = root.run(`
      if node --version 2> /dev/null; then exit 1; fi
      tar -xzf ${name}
      ${serveAndCall(`./${name.replace('.tar.gz', '')}/bascule serve --port 0`, `./${name.replace('.tar.gz', '')}/bascule`)}`);
    expect(output).toContain('first call');
    told('archive', seconds);
  });
});

describe.runIf(process.env.BASCULE_CLONE === '1')('from a clone', verifies('gateway:delivery:package'), () => {
  it.each(versions)('`npm ci && npm start` of the README answers: Node %s', (version) => {
    const root = new CleanRoot();
    root.addNode(version);
    cloneInto(join(root.folder, 'clone'));
    const { output, seconds } = root.run(`
      cd clone
      npm ci > /dev/null 2>&1
      ${serveAndCall('npm start', 'node bin/bascule.js')}`);
    expect(output).toContain('first call');
    told(`clone, Node ${version}`, seconds);
  });
});
