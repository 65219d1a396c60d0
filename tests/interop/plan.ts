/** Which cells are tried: all pairs in the long form, in the short one every client and every server at least once. */
import type { Cell, Transport } from './cells.ts';
import type { Client } from './clients.ts';
import { CLIENT_ROWS } from './clients.ts';
import type { Server } from './servers.ts';
import { SERVER_ROWS } from './servers.ts';

const TRANSPORTS = ['stdio', 'http'] as const;

const backsOf = (server: Server): readonly Transport[] => TRANSPORTS.filter((back) => server[back] !== undefined);

function cellsOf(client: Client, server: Server, fronts: readonly Transport[], backs: readonly Transport[]): Cell[] {
  return backs.flatMap((back) =>
    client.eras.flatMap((era) => fronts.map((front): Cell => ({ client, era, front, server, back }))),
  );
}

/** Every client with every server over every transport. */
function allPairs(): Cell[] {
  return SERVER_ROWS.flatMap((server) =>
    CLIENT_ROWS.flatMap((client) => cellsOf(client, server, client.transports, backsOf(server))),
  );
}

/**
 * Every server with both reference clients over HTTP; every other client, over each of its transports, with both reference
 * servers.
 */
function everybodyOnce(): Cell[] {
  const servers = SERVER_ROWS.filter(({ isLong }) => isLong === undefined);
  const clients = CLIENT_ROWS.filter(({ isLong }) => isLong === undefined);
  return [
    ...servers.flatMap((server) =>
      clients
        .filter(({ isReference }) => isReference)
        .flatMap((client) =>
          cellsOf(client, server, server.isReference ? client.transports : ['http'], backsOf(server)),
        ),
    ),
    ...clients
      .filter(({ isReference }) => !isReference)
      .flatMap((client) =>
        servers
          .filter(({ isReference }) => isReference)
          .flatMap((server) => cellsOf(client, server, client.transports, backsOf(server))),
      ),
  ];
}

export function plan(isLong: boolean): Cell[] {
  return isLong ? allPairs() : everybodyOnce();
}
