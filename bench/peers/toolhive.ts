/** ToolHive's vMCP, in Go, with its backend given by URL. It reaches backends over HTTP only. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goProgram, installOnce, peerPath } from './install.ts';
import { type Front, type Given, overHttp, type Peer } from './peer.ts';
import { versions } from './versions.ts';

const name = 'ToolHive vMCP';
/** It takes some milliseconds a call. */
const SHARE = 0.2;

function front({ port, directory }: Given, backend: URL): Front {
  const path = join(directory, 'vmcp.yaml');
  // JSON is YAML too.
  const config = {
    name: 'bench',
    groupRef: 'bench',
    incomingAuth: { type: 'anonymous' },
    outgoingAuth: { source: 'inline', default: { type: 'unauthenticated' } },
    aggregation: { conflictResolution: 'prefix', conflictResolutionConfig: { prefixFormat: '{workload}_' } },
    backends: [{ name: 'bench', url: backend.href, transport: 'streamable-http' }],
  };
  writeFileSync(path, JSON.stringify(config));
  const args = ['serve', '--config', path, '--host', '127.0.0.1', '--port', String(port)];
  return { name, command: peerPath(name, 'program'), args, path: '/mcp', toolName: (tool) => `bench_${tool}` };
}

export const toolhive: Peer = {
  name,
  install: async () => {
    await installOnce(name, goProgram('github.com/stacklok/toolhive', versions.toolhive, './cmd/vmcp'));
    return versions.toolhive;
  },
  contestants: [overHttp(name, 'peers-http-legacy', front, SHARE), overHttp(name, 'peers-http-modern', front, SHARE)],
};
