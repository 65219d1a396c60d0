/** Which cells are tried: all pairs in the long form, in the short one every client and every server at least once. */
import type { Cell, Transport } from './cells.ts';
import type { Client } from './clients.ts';
import { CLIENT_ROWS } from './clients.ts';
import type { Era } from './job.ts';
import type { Server } from './servers.ts';
import { SERVER_ROWS } from './servers.ts';

const TRANSPORTS = ['stdio', 'http'] as const;

const backsOf = (server: Server): readonly Transport[] => TRANSPORTS.filter((back) => server[back] !== undefined);

interface Some {
  readonly eras?: readonly Era[];
  readonly fronts?: readonly Transport[];
  readonly backs?: readonly Transport[];
}

function cellsOf(client: Client, server: Server, { eras = client.eras, fronts, backs }: Some): Cell[] {
  const some = client.transports.filter((front) => fronts === undefined || fronts.includes(front));
  // The run without the gateway needs a transport that both have.
  const both = (backs ?? backsOf(server)).filter((back) => client.transports.includes(back));
  return both.flatMap((back) =>
    eras.flatMap((era) => some.map((front): Cell => ({ client, era, front, server, back }))),
  );
}

/** Every client, in each of its eras, with every server over each of its transports. */
function allPairs(): Cell[] {
  return SERVER_ROWS.flatMap((server) =>
    CLIENT_ROWS.flatMap((client) => {
      const fronts: Transport[] = client.transports.includes('http') ? ['http'] : ['stdio'];
      return cellsOf(client, server, { fronts });
    }),
  );
}

/**
 * Every server, over each of its transports, with a reference client of each era over HTTP; and every client, in each
 * of its eras and over each of its transports, with the reference servers.
 */
function everybodyOnce(): Cell[] {
  const servers = SERVER_ROWS.filter(({ isLong }) => isLong === undefined);
  const clients = CLIENT_ROWS.filter(({ isLong }) => isLong === undefined);
  const byServer = servers.flatMap((server) =>
    clients.flatMap((client) => {
      const { referenceEra } = client;
      return referenceEra === undefined ? [] : cellsOf(client, server, { eras: [referenceEra], fronts: ['http'] });
    }),
  );
  const byClient = clients.flatMap((client) =>
    servers.flatMap((server) => {
      const { referenceBack } = server;
      if (referenceBack === undefined) return [];
      // Over HTTP and over stdio with one of them: how a client comes in does not depend on the server.
      const fronts = referenceBack === 'http' ? client.transports : client.transports.slice(0, 1);
      return cellsOf(client, server, { backs: [referenceBack], fronts });
    }),
  );
  return unique([...byServer, ...byClient]);
}

function unique(cells: readonly Cell[]): Cell[] {
  return cells.filter((cell, index) => index === cells.findIndex((other) => isSame(cell, other)));
}

function isSame(one: Cell, other: Cell): boolean {
  const isSamePair = one.client === other.client && one.server === other.server;
  return isSamePair && one.era === other.era && one.front === other.front && one.back === other.back;
}

export function plan(isLong: boolean): Cell[] {
  return isLong ? unique([...everybodyOnce(), ...allPairs()]) : everybodyOnce();
}
