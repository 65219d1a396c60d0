/** FastMCP's proxy, in Python: `fastmcp run` with a list of servers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installOnce, peerPath, pythonPackage } from './install.ts';
import { type Front, type Given, overHttp, overStdio, type Peer } from './peer.ts';
import { versions } from './versions.ts';

const name = 'FastMCP';
/** It takes tens of milliseconds a call. */
const SHARE = 0.03;

function front({ port, directory }: Given, bench: object): Front {
  const path = join(directory, 'mcp.json');
  writeFileSync(path, JSON.stringify({ mcpServers: { bench } }));
  const own = ['--transport', 'http', '--host', '127.0.0.1', '--port', String(port), '--log-level', 'ERROR'];
  const args = ['run', path, ...own, '--no-banner'];
  return { name, command: peerPath(name, 'bin/fastmcp'), args, path: '/mcp' };
}

const toUrl = (given: Given, { href }: URL) => front(given, { url: href, transport: 'http' });

export const fastmcp: Peer = {
  name,
  install: async () => {
    await installOnce(name, pythonPackage('fastmcp', versions.fastmcp));
    return versions.fastmcp;
  },
  contestants: [
    overHttp(name, 'peers-http-legacy', toUrl, SHARE),
    overHttp(name, 'peers-http-modern', toUrl, SHARE),
    overStdio(name, (given, [command, ...args]) => front(given, { command, args }), SHARE),
  ],
};
