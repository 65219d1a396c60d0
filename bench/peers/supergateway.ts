/** supergateway from npm, with sessions. It fronts stdio servers only, one process for each session. */
import { installOnce, npmPackage, peerPath } from './install.ts';
import { overStdio, type Peer } from './peer.ts';
import { versions } from './versions.ts';

const name = 'supergateway';

export const supergateway: Peer = {
  name,
  install: async () => {
    await installOnce(name, npmPackage(name, versions.supergateway));
    return versions.supergateway;
  },
  contestants: [
    overStdio(name, ({ port }, backend) => {
      const own = ['--outputTransport', 'streamableHttp', '--stateful', '--port', String(port), '--logLevel', 'none'];
      const args = [peerPath(name, 'node_modules/supergateway/dist/index.js'), '--stdio', backend.join(' '), ...own];
      return { name, args, path: '/mcp' };
    }),
  ],
};
