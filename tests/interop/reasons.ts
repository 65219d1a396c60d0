import type { Cell, Transport } from './cells.ts';

/** What cannot be tried, with the reason: printed at the end of every run, and written into the page. */
export interface Reason {
  /** Of a client or a server, as in its table. */
  readonly name: string;
  readonly why: string;
}

export const REASONS: readonly Reason[] = [];

/**
 * Pairs that work only through the gateway. There is nothing to compare with, so the run checks that the pair still
 * fails without the gateway, and that through it no step meets an error of the gateway.
 */
interface Unaided {
  readonly clients: readonly string[];
  /** Name and version. */
  readonly servers: readonly string[];
  readonly back: Transport;
  readonly why: string;
}

const UNAIDED: readonly Unaided[] = [
  {
    clients: ['AI SDK', 'openai-agents', 'pydantic-ai'],
    servers: ['mcp (Python) 1.3.0', 'mcp (Python) 1.6.0'],
    back: 'stdio',
    why: 'The client asks `server/discover` first, and the server ends when it reads a method that it does not know.',
  },
];

export function whyUnaided({ client, server, back }: Cell): string | undefined {
  const name = `${server.name} ${server.version}`;
  return UNAIDED.find((row) => row.clients.includes(client.name) && row.servers.includes(name) && row.back === back)
    ?.why;
}
