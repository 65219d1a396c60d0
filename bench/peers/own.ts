/** Bascule itself, what the bench sets beside it anyway, and mcp-proxy from npm, which the bench has as well. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../build.ts';
import { bascule, basculeStdio } from '../contestants/bascule.ts';
import type { Contestant, PeerGroup } from '../contestants/contestant.ts';
import { mcpProxy } from '../contestants/mcp-proxy.ts';
import { bridge, passThrough } from '../contestants/pass-through.ts';
import type { Peer } from './peer.ts';

/** Ratios are taken against Bascule here, not against the least that a gateway can cost. */
function among({ name, missing, start }: Contestant, group: PeerGroup, isFloor = false): Contestant {
  return { name, group, start, ...(missing && { missing }), ...(isFloor && { isFloor }) };
}

function versionIn(folder: string): string {
  return (JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as { version: string }).version;
}

export const own: readonly Peer[] = [
  {
    name: bascule.name,
    install: async () => versionIn('.'),
    contestants: [
      among(bascule, 'peers-http-legacy', true),
      among(bascule, 'peers-http-modern', true),
      among(basculeStdio, 'peers-stdio', true),
    ],
  },
  {
    name: passThrough.name,
    install: async () => '',
    contestants: [among(passThrough, 'peers-http-legacy'), among(passThrough, 'peers-http-modern')],
  },
  { name: bridge.name, install: async () => '', contestants: [among(bridge, 'peers-stdio')] },
  {
    name: mcpProxy.name,
    install: async () => versionIn('node_modules/mcp-proxy'),
    contestants: [among(mcpProxy, 'peers-stdio')],
  },
];
