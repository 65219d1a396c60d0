/** TBXark/mcp-proxy, in Go: one upstream session for all clients, who have none. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goProgram, installOnce, peerPath } from './install.ts';
import { type Front, type Given, overHttp, overStdio, type Peer } from './peer.ts';
import { versions } from './versions.ts';

const name = 'TBXark/mcp-proxy';

function front({ port, directory }: Given, bench: object): Front {
  const config = join(directory, 'config.json');
  const mcpProxy = {
    baseURL: `http://127.0.0.1:${port}`,
    addr: `127.0.0.1:${port}`,
    name: 'bench',
    version: '1.0.0',
    type: 'streamable-http',
    options: { logEnabled: false },
  };
  writeFileSync(config, JSON.stringify({ mcpProxy, mcpServers: { bench } }));
  return {
    name,
    command: peerPath(name, 'program'),
    args: ['-config', config],
    path: '/bench/mcp',
    withoutSessions: true,
  };
}

export const tbxark: Peer = {
  name,
  install: async () => {
    await installOnce(name, goProgram('github.com/TBXark/mcp-proxy', versions.tbxark));
    return versions.tbxark;
  },
  contestants: [
    overHttp(name, 'peers-http-legacy', (given, { href }) =>
      front(given, { transportType: 'streamable-http', url: href }),
    ),
    overStdio(name, (given, [command, ...args]) => front(given, { command, args })),
  ],
};
