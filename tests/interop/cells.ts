/** What is tried: a client of an era, over a transport, with a server over a transport. */
import type { Client } from './clients.ts';
import { groupBy } from './grouping.ts';
import type { Era } from './job.ts';
import type { Server } from './servers.ts';

export type Transport = 'stdio' | 'http';

export interface Cell {
  readonly client: Client;
  readonly era: Era;
  /** Between client and gateway. */
  readonly front: Transport;
  readonly server: Server;
  /** Between gateway and server. */
  readonly back: Transport;
}

/** Cells that share a running gateway. */
export interface Group {
  readonly server: Server;
  readonly back: Transport;
  readonly cells: readonly Cell[];
}

export function titleOf({ client, era, front, server, back }: Cell): string {
  return `${client.name} ${client.version} (${era}, ${front}) -> ${server.name} ${server.version} (${back})`;
}

export function groupsOf(cells: readonly Cell[]): Group[] {
  const groups = groupBy(cells, ({ server, back }) => `${server.name} ${server.version} ${back}`);
  return [...groups.values()].flatMap((members) => {
    const [first] = members;
    return first === undefined ? [] : [{ server: first.server, back: first.back, cells: members }];
  });
}
