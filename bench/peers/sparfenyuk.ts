/** sparfenyuk/mcp-proxy, in Python. It fronts stdio servers only. */
import { installOnce, peerPath, pythonPackage } from './install.ts';
import { overStdio, type Peer } from './peer.ts';
import { versions } from './versions.ts';

const name = 'sparfenyuk/mcp-proxy';
/** It takes some milliseconds a call. */
const SHARE = 0.25;

export const sparfenyuk: Peer = {
  name,
  install: async () => {
    await installOnce(name, pythonPackage('mcp-proxy', versions.sparfenyuk));
    return versions.sparfenyuk;
  },
  contestants: [
    overStdio(
      name,
      ({ port }, backend) => ({
        name,
        command: peerPath(name, 'bin/mcp-proxy'),
        args: ['--host', '127.0.0.1', '--port', String(port), '--log-level', 'ERROR', '--', ...backend],
        path: '/mcp',
      }),
      SHARE,
    ),
  ],
};
