/**
 * Defects that were mended on purpose. Each has a stage of its own: what comes after a difference differs too, if only
 * in ids. The differences themselves are in `expected-differences.ts`.
 */
import { LegacyHttpClient, ModernHttpClient } from './clients.ts';
import { ada, writeKeys } from './guarded.ts';
import type { Player } from './player.ts';
import { backendsOf, type Stage } from './stages.ts';

const call = (name: string, more: object = {}) => ({ method: 'tools/call', params: { name, arguments: {}, ...more } });

const rows: readonly {
  readonly name: string;
  readonly backend: string;
  readonly more?: object;
  play(player: Player, config: object): Promise<void>;
}[] = [
  {
    name: 'crowded',
    backend: 'b202511',
    play: async (player) => {
      const client = new LegacyHttpClient(player, 'client', '2025-11-25', '/mcp');
      await client.open();
      await client.request('mended', 'a question with too many members', call('crowded'));
    },
  },
  {
    name: 'twins',
    backend: 'b202511',
    play: (player) =>
      new ModernHttpClient(player, 'client', '/mcp').request('mended', 'an ambiguous page', call('visit_twins')),
  },
  {
    name: 'state',
    backend: 'bmodern',
    more: { audit: { to: 'audit.jsonl' }, identity: { keys: { file: 'keys.json' } } },
    play: (player) =>
      new ModernHttpClient(player, 'client', '/mcp', ada).request(
        'mended',
        'a requestState that is none',
        call('echo', { requestState: 'x', inputResponses: {} }),
      ),
  },
  {
    name: 'rounds',
    backend: 'bmodern',
    play: async (player, config) => {
      const client = new LegacyHttpClient(player, 'client', '2025-11-25', '/mcp');
      await client.open();
      const rules = [{ id: 'all', effect: 'deny', on: { tools: ['thrice'] } }];
      client.beforeAnswer = () => player.reload({ ...config, policy: { rules } }, 'generation 2');
      await client.request('mended', 'a policy comes between two rounds', call('thrice'));
    },
  },
];

export const mended: readonly Stage[] = rows.map(({ name, backend, more, play }) => ({
  name: `mended ${name}`,
  play: async (player, backends) => {
    const config = { backends: backendsOf(backends, [backend]), ...more };
    writeKeys(player);
    await player.start(config, 'serve', [backend]);
    await play(player, config);
    await player.stop();
  },
}));
