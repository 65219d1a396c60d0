/** `serve` and `stdio` with a command or a URL in the place of a config file. */
import { describe, expect, it } from 'vitest';
import { nameOfCommand } from '../../../src/config/given-backend.ts';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { modernBackend, type Script } from '../harness/http-backend.ts';
import { run, StdioClient, serve } from '../harness/program.ts';
import { modernProcess } from '../harness/stdio-backend.ts';

const called: Script = { 'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('called') }) };
const calling = modern({ id: 7, method: 'tools/call', params: { name: 'work' } });

describe('a command after `--`', verifies('gateway:serve:given-backend'), () => {
  it('is the only backend of `serve`, named after its program', async () => {
    const { command, args } = await modernProcess({
      'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('process') }),
    });
    const { origin, url, program } = await serve([], {}, ['--', command, ...args]);
    expect((await send(url(), calling)).json().result.content).toEqual(text('process').content);
    await program.says(/^ {2}puppet {2}ready: modern/m);
    expect((await send(`${origin}/servers/puppet/mcp`, calling)).status).toBe(200);
  });

  it('is the only backend of `stdio`, and gets its own options', async () => {
    const { command, args } = await modernProcess({
      'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('process') }),
    });
    const client = new StdioClient({}, ['--', command, ...args, '--port', 'x']);
    expect((await client.ask(calling.body)).result.content).toEqual(text('process').content);
  });

  it.each([
    { words: ['node', 'build/server.mjs'], name: 'server' },
    { words: ['/usr/bin/node', '--enable-source-maps', './notes.js'], name: 'notes' },
    { words: ['npx', '-y', '@modelcontextprotocol/server-files@1.2.0', '/srv'], name: 'server-files' },
    { words: ['uv', 'run', 'weather.py'], name: 'weather' },
    { words: ['python3', '-m', 'my_server'], name: 'my_server' },
    { words: ['C:\\tools\\My Server.exe'], name: 'My-Server' },
    { words: ['./notes', '--fast'], name: 'notes' },
    { words: ['node'], name: 'node' },
    { words: ['...'], name: 'server' },
  ])('gives the backend a name: $words', ({ words, name }) => expect(nameOfCommand(words)).toBe(name));
});

describe('a URL', verifies('gateway:serve:given-backend'), () => {
  it('is the only backend of `serve`, with headers whose variables are filled in', async () => {
    const backend = await modernBackend(called);
    const header = ['--header', `Authorization: Bearer \${TOKEN}`, '--header', 'X-Team: blue'];
    const { origin, url } = await serve([backend.url, ...header], { env: { TOKEN: 's3cret' } });
    expect((await send(url(), calling)).json().result.content).toEqual(text('called').content);
    expect((await send(`${origin}/servers/127.0.0.1/mcp`, calling)).status).toBe(200);
    expect(backend.of('tools/call')[0]?.headers).toMatchObject({ authorization: 'Bearer s3cret', 'x-team': 'blue' });
  });

  it('is the only backend of `stdio`, also where it is the address of another gateway', async () => {
    const backend = await modernBackend(called);
    const { url } = await serve([backend.url]);
    const client = new StdioClient({}, [url()]);
    expect((await client.ask(calling.body)).result.content).toEqual(text('called').content);
  });
});

describe('a command line that is wrong', verifies('gateway:serve:given-backend'), () => {
  it.each([
    { args: ['--'], says: 'there is no command after `--`' },
    { args: ['a.yaml', '--', 'node', 'x'], says: 'both a config and a command are named' },
    { args: ['a.yaml', 'b.yaml'], says: 'more than one config is named' },
    { args: ['--header', 'X-A: s3cret', 'a.yaml'], says: '`--header` has no effect here' },
    { args: ['ftp://files.example'], says: 'the URL has a wrong value\n  expected an http:// or https:// address' },
    { args: ['http://me:s3cret@files.example'], says: 'the URL has a wrong value' },
    { args: ['http://files.example', '--header', 's3cret'], says: '`--header` has a wrong value' },
    { args: ['http://files.example', '--header', 'Accept: s3cret'], says: 'the header `Accept` is set by the gateway' },
    {
      args: ['http://files.example', '--header', `A: \${MISSING}`],
      says: 'the environment variable `MISSING` is not set',
    },
  ])('is refused by name: $args', async ({ args, says }) => {
    for (const command of ['serve', 'stdio']) {
      const { exit, stdout, stderr } = await run([command, ...args]);
      expect({ exit, stdout }).toEqual({ exit: { code: 1, signal: null }, stdout: '' });
      expect(stderr).toContain(`command line: ${says}`);
      expect(stderr).not.toContain('s3cret');
    }
  });

  it('is refused where the URL is the address that the gateway listens on', async () => {
    const { stderr } = await run(['serve', 'http://localhost:4711/mcp', '--port', '4711']);
    expect(stderr).toContain('command line: this address is the one that the gateway listens on');
  });
});
