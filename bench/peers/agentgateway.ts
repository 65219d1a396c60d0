/** agentgateway, in Rust. No registry has its program: the environment names one. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { said } from './install.ts';
import { type Front, type Given, overHttp, overStdio, type Peer } from './peer.ts';

const name = 'agentgateway';
const program = process.env.AGENTGATEWAY;

function front({ port, directory }: Given, target: object): Front {
  const path = join(directory, 'config.yaml');
  const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' };
  // JSON is YAML too.
  writeFileSync(path, JSON.stringify({ config, mcp: { port, targets: [{ name: 'bench', ...target }] } }));
  return { name, command: program ?? name, args: ['-f', path], path: '/mcp' };
}

const toUrl = (given: Given, { href }: URL) => front(given, { mcp: { host: href } });

export const agentgateway: Peer = {
  name,
  leftOut: () => (program === undefined ? 'no binary given' : undefined),
  install: () => said(/\d+\.\d+\.\d+\S*/, program ?? name, '--version'),
  contestants: [
    overHttp(name, 'peers-http-legacy', toUrl),
    overHttp(name, 'peers-http-modern', toUrl),
    overStdio(name, (given, [cmd, ...args]) => front(given, { stdio: { cmd, args } })),
  ],
};
