/** The stages of a play: a gateway with a config each, and the exchanges that are played there. */
import type { BackendRow, Backends } from './backends.ts';
import { type Client, LegacyHttpClient, ModernHttpClient, SseClient } from './clients.ts';
import { everyMethod, operations, playAll, readable } from './operations.ts';
import type { Player } from './player.ts';

export interface Stage {
  readonly name: string;
  readonly play: (player: Player, backends: Backends) => Promise<void>;
}

const legacyRevisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const;
export const modern = '2026-07-28';
export const allRevisions = { revisions: [...legacyRevisions, modern], batches: 'allow' };

export const backendRows: readonly BackendRow[] = [
  { name: 'b2024', revision: '2024-11-05', own: 'a', transport: 'sse' },
  { name: 'b202503', revision: '2025-03-26', own: 'b', transport: 'streamable-http' },
  { name: 'b202506', revision: '2025-06-18', own: 'c', transport: 'streamable-http', streams: true },
  { name: 'b202511', revision: '2025-11-25', own: 'd', transport: 'streamable-http' },
  { name: 'bmodern', revision: modern, own: 'e', transport: 'streamable-http' },
  { name: 'plegacy', revision: '2025-11-25', own: 'f', transport: 'stdio' },
  { name: 'pmodern', revision: modern, own: 'g', transport: 'stdio' },
  { name: 'ledger', revision: '', own: '', transport: 'json-rpc' },
];

export function backendsOf(backends: Backends, names: readonly string[]): Record<string, object> {
  const rows = names.flatMap((name) => backendRows.filter((row) => row.name === name));
  return Object.fromEntries(rows.map((row) => [row.name, backends.config(row)]));
}

/** A client of each revision, by the way in that the revision has. */
function clientOf(player: Player, revision: string, label: string, endpoint: string): Client {
  if (revision === modern) return new ModernHttpClient(player, label, endpoint);
  if (revision === '2024-11-05') return new SseClient(player, label, endpoint.replace(/mcp$/, 'sse'));
  return new LegacyHttpClient(player, label, revision, endpoint);
}

/** Waits until the backend has got the call that hangs. */
export function hangs(player: Player): () => boolean {
  const { transcript } = player;
  const has = () => [...(transcript.exchanges.at(-1)?.channels ?? [])].filter(([name]) => name.startsWith('backend'));
  return () => has().some(([, pieces]) => pieces.some(({ text }) => text.includes('"hang"')));
}

export const hang = { method: 'tools/call', params: { name: 'hang', arguments: {} } };

const mcpRows = backendRows.filter(({ transport }) => transport !== 'json-rpc');
const mcpBackends = mcpRows.map(({ name }) => name);

export const pairs: Stage = {
  name: 'pairs',
  play: async (player, backends) => {
    const endpoints = mcpBackends.map((name) => ({
      ...{ path: `/servers/${name}/mcp`, backends: [name], profile: allRevisions },
    }));
    await player.start({ backends: backendsOf(backends, mcpBackends), endpoints }, 'serve', mcpBackends);
    for (const revision of [...legacyRevisions, modern])
      for (const { name, transport } of mcpRows) {
        const client = clientOf(player, revision, `client ${revision}, ${name}`, `/servers/${name}/mcp`);
        await client.open();
        await client.listen();
        await playAll(client, operations.filter(readable(transport)));
        await client.cancel('cancel', hang, hangs(player));
        await client.close();
      }
    for (const revision of ['2025-11-25', modern]) {
      const client = clientOf(player, revision, `every method, ${revision}`, '/servers/b202511/mcp');
      await client.open();
      for (const { method, isRequest } of everyMethod)
        if (isRequest) await client.request('method', `request ${method}`, { method });
        else await client.notify('method', `notification ${method}`, { method });
    }
    await player.stop();
  },
};
