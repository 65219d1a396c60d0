/** Over stdio in; a reload in the middle; a shutdown while something runs. */
import { LegacyHttpClient, LegacyPipeClient, ModernHttpClient, ModernPipeClient, Pipe } from './clients.ts';
import { operations, playAll, readable } from './operations.ts';
import { allRevisions, backendsOf, hang, hangs, modern, type Stage } from './stages.ts';

const stdioRows = [
  ...['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', modern].map((revision) => ({
    revision,
    behind: ['bmodern'],
  })),
  ...['2025-11-25', modern].map((revision) => ({ revision, behind: ['b202511'] })),
  ...['2025-06-18', modern].map((revision) => ({ revision, behind: ['plegacy'] })),
  ...['2025-11-25', modern].map((revision) => ({ revision, behind: ['b202506', 'pmodern'] })),
];

export const stdioStages: readonly Stage[] = stdioRows.map(({ revision, behind }) => ({
  name: `stdio ${revision} ${behind.join('+')}`,
  play: async (player, backends) => {
    const endpoints = [{ path: '/mcp', backends: behind, profile: allRevisions }];
    const gateway = await player.start({ backends: backendsOf(backends, behind), endpoints }, 'stdio');
    if (gateway.stdin === null || gateway.stdout === null) throw new Error('there are no pipes');
    const pipe = new Pipe(player, gateway.stdin, gateway.stdout);
    const client =
      revision === modern
        ? new ModernPipeClient(player, 'client', pipe)
        : new LegacyPipeClient(player, 'client', revision, pipe);
    await client.open();
    await client.listen();
    const transport = behind.some((name) => name.startsWith('p')) ? 'stdio' : 'streamable-http';
    const rows = operations.filter(readable(transport));
    await playAll(client, behind.length > 1 ? rows.map((row) => prefixed(row, behind[1])) : rows);
    for (const [name, line] of Object.entries(badLines)) await player.play('bad line', name, () => pipe.write(line));
    const name = behind.length > 1 ? `${behind[1]}__hang` : 'hang';
    await client.cancel('cancel', { ...hang, params: { name, arguments: {} } }, hangs(player));
    await client.close();
    await player.play('shutdown', 'stdin is closed', async () => {
      gateway.stdin?.end();
      await new Promise((resolve) => gateway.once('exit', resolve));
    });
    await player.stop();
  },
}));

const badLines: Readonly<Record<string, string>> = {
  'no JSON': '{',
  'an empty line': '',
  'id null': '{"jsonrpc":"2.0","id":null,"method":"ping"}',
  'a member twice': '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
  'an answer to nothing': '{"jsonrpc":"2.0","id":"nobody","result":{}}',
  'a batch': '[{"jsonrpc":"2.0","id":"b","method":"ping"}]',
};

/** The names of a backend at an endpoint with several. */
function prefixed<Row extends (typeof operations)[number]>(row: Row, backend = ''): Row {
  const name = row.params?.name;
  return typeof name === 'string' ? { ...row, params: { ...row.params, name: `${backend}__${name}` } } : row;
}

export const lifecycle: Stage = {
  name: 'lifecycle',
  play: async (player, backends) => {
    const config = (more: readonly string[], policy?: object) => ({
      backends: backendsOf(backends, ['b202511', ...more]),
      endpoints: [
        { path: '/mcp', profile: allRevisions },
        ...['b202511', ...more].map((name) => ({
          path: `/servers/${name}/mcp`,
          backends: [name],
          profile: allRevisions,
        })),
      ],
      audit: { to: 'audit.jsonl' },
      ...(policy && { policy }),
    });
    await player.start(config(['bmodern']), 'serve', ['b202511', 'bmodern']);
    const clients = [
      new LegacyHttpClient(player, 'legacy, merged', '2025-11-25', '/mcp'),
      new LegacyHttpClient(player, 'legacy, one', '2025-06-18', '/servers/bmodern/mcp'),
      new ModernHttpClient(player, 'modern, merged', '/mcp'),
      new ModernHttpClient(player, 'modern, one', '/servers/b202511/mcp'),
    ];
    const few = operations.filter(({ name }) => ['tools', 'resources', 'tool echo', 'tool elicit'].includes(name));
    const round = async () => {
      for (const client of clients) await playAll(client, few);
      await player.play('reload', 'readyz', async () => void (await player.http({ method: 'GET', path: '/readyz' })));
    };
    const reload = (name: string, next: object, said: string) =>
      player.play('reload', name, () => player.reload(next, said));
    for (const client of clients) {
      await client.open();
      await client.listen();
    }
    await round();
    const rules = [
      { id: 'all', effect: 'allow' },
      { id: 'no-echo', effect: 'deny', on: { tools: ['echo'] } },
    ];
    await reload('a policy comes', config(['bmodern'], { rules }), 'generation 2');
    await round();
    await reload('a config that is wrong', { backends: 5 }, 'not reloaded');
    await round();
    await reload('a backend comes', config(['bmodern', 'b202506'], { rules }), 'generation 3');
    await player.play('reload', 'the new backend is there', () => player.printed('b202506  ready'));
    await round();
    await reload('a backend goes', config(['b202506']), 'generation 4');
    await round();
    await reload('one backend is left', config([]), 'generation 5');
    await round();
    const waiting = new LegacyHttpClient(player, 'at the end', '2025-11-25', '/servers/b202511/mcp');
    await waiting.open();
    await waiting.begin('a call that runs at the end', hang, hangs(player));
    await player.stop();
  },
};
