/**
 * What a person and a log collector see of the start: addresses that work, keys that are needed, states of backends.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { until } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { configFile, run, serve } from '../harness/program.ts';
import { modernProcess } from '../harness/stdio-backend.ts';

const entries = (stderr: string) =>
  stderr
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

describe('the start-up lines', verifies('gateway:serve:banner'), () => {
  it('show publicUrl, where the gateway listens, and how to connect with a key', async () => {
    const backend = await modernBackend();
    const ring = keyRing();
    const identity = { publicUrl: 'https://gateway.example', keys: { file: ring.path } };
    const { program, origin } = await serve([], configFile({ backends: { b: { url: backend.url } }, identity }));
    await program.says(/^Backends:/m);
    const said = program.stdout;
    expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(said).toContain(`  https://gateway.example/mcp  (listening on ${origin})\n`);
    expect(said).toContain('`bascule key new <name>` creates one');
    expect(said).toContain(
      'claude mcp add --transport http bascule https://gateway.example/mcp --header "Authorization: Bearer <key>"\n',
    );
    expect(said).toMatch(/curl -s https:\/\/gateway\.example\/mcp -H 'Authorization: Bearer <key>' /);
    const [, settings = ''] = await program.says(/code --add-mcp '(\{.*\})'/);
    expect(JSON.parse(settings)).toMatchObject({ headers: { Authorization: 'Bearer <key>' } });
  });
});

describe('the log', () => {
  it('reports backends that start, are ready and are down', verifies('gateway:log:backend-states'), async () => {
    const backend = await modernBackend();
    const backends = { good: { url: backend.url }, bad: { url: 'http://127.0.0.1:1/mcp' } };
    const { program } = await serve([], configFile({ backends }));
    await until(() => /backend ready/.test(program.stderr) && /backend down/.test(program.stderr), 'both are told');
    const told = entries(program.stderr);
    expect(told).toContainEqual(expect.objectContaining({ backend: 'good', msg: 'backend starting' }));
    expect(told).toContainEqual(expect.objectContaining({ backend: 'good', msg: 'backend ready', eras: ['modern'] }));
    expect(told).toContainEqual(
      expect.objectContaining({ backend: 'bad', reason: 'backend_unavailable', cause: expect.any(String) }),
    );
  });

  it(
    'contains the stderr of a server at debug, and its last lines when it exits',
    verifies('gateway:log:backend-states', 'gateway:backend:stderr-limited'),
    async () => {
      const { command, args } = await modernProcess({
        'server/discover': (turn) => {
          turn.process.complain('the database is gone\n');
          turn.process.exit(3);
        },
        initialize: (turn) => {
          turn.process.complain('the database is gone\n');
          turn.process.exit(3);
        },
      });
      const { program } = await serve([], configFile({ backends: { b: { command, args } } }));
      await until(() => program.stderr.includes('backend down'), 'it is told');
      const about = entries(program.stderr).filter((entry) => JSON.stringify(entry).includes('database'));
      expect(about).toHaveLength(1);
      expect(about[0]).toMatchObject({ backend: 'b', msg: expect.stringContaining('backend down') });
    },
  );

  it('is text on every line if configured so', verifies('gateway:log:format'), async () => {
    const backend = await modernBackend();
    const { program } = await serve(
      [],
      configFile({ backends: { b: { url: backend.url } }, log: { format: 'text', level: 'debug' } }),
    );
    await until(() => program.stderr.includes('backend ready'), 'the backend is told');
    program.kill('SIGTERM');
    await program.end();
    const lines = program.stderr.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line).toMatch(/^\d\d:\d\d:\d\d (?:debug|info|warn|error) +\S/);
  });

  it('is JSON where the gateway cannot listen, too', verifies('gateway:log:format'), async () => {
    const backend = await modernBackend();
    const { port } = new URL(backend.url);
    const { exit, stderr } = await run(['serve', '--port', port], configFile({ backends: {} }));
    expect(exit.code).toBe(1);
    expect(entries(stderr).at(-1)).toMatchObject({ msg: expect.stringContaining('cannot listen on') });
  });
});
