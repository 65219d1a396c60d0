/** A built gateway with a console, under load: two backends, one that is down, one that is off, and a policy. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from 'undici';
import { ROOT } from '../conformance/processes.ts';
import { modern } from '../interaction/harness/eras.ts';

export interface ConsoleGateway {
  readonly origin: string;
  /** The link of the first lines. It works once. */
  readonly link: string;
  /** Sends this many calls, many at once, with all outcomes among them. */
  load(calls: number): Promise<void>;
  /** Milliseconds of one call. */
  callOnce(): Promise<number>;
  stop(): Promise<void>;
}

const AT_ONCE = 32;
const demo = { command: process.execPath, args: [join(ROOT, 'dist/demo.js')] };

export async function startConsoleGateway(more: object = {}): Promise<ConsoleGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'bascule-console-'));
  const config = {
    backends: {
      demo: { ...demo, share: true },
      notes: { ...demo, share: true },
      weather: { url: 'http://127.0.0.1:9/mcp' },
      archive: { url: 'http://127.0.0.1:9/mcp', disabled: true },
    },
    policy: {
      rules: [
        { id: 'everyday-tools', effect: 'allow', what: ['call', 'read', 'get', 'complete'] },
        { id: 'no-counting', effect: 'deny', what: ['call'], on: { tools: ['*count*'] } },
      ],
    },
    limits: { consoleCalls: 100_000 },
    console: {},
    store: { dir: 'state' },
    ...more,
  };
  const file = join(folder, 'bascule.yaml');
  await writeFile(file, JSON.stringify(config));
  const args = [join(ROOT, 'bin/bascule.js'), 'serve', file, '--port', '0'];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] });
  let said = '';
  const link = await new Promise<string>((resolve, reject) => {
    child.once('close', () => reject(new Error(`the gateway ended: ${said}`)));
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const found = /Console: {2}(\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  const { origin } = new URL(link);
  const agent = new Agent({ connections: AT_ONCE });
  const call = async (name: string, args_: object, path = '/mcp') => {
    const { headers, body } = modern({ method: 'tools/call', params: { name, arguments: args_ } });
    const response = await fetch(`${origin}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(body),
      // @ts-expect-error: the type of fetch does not know undici's option.
      dispatcher: agent,
    });
    await response.arrayBuffer();
  };
  const kinds = [
    () => call('demo__echo', { message: 'hello' }),
    () => call('notes__echo', { message: 'hello' }),
    () => call('echo', { message: 'hello' }, '/servers/demo/mcp'),
    () => call('demo__echo', { message: 'again' }),
    () => call('demo__fail', {}),
    () => call('notes__count', {}),
  ];
  return {
    origin,
    link,
    load: async (calls) => {
      let sent = 0;
      const worker = async () => {
        while (sent < calls) await (kinds[sent++ % 40] ?? kinds[0]!)();
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    },
    callOnce: async () => {
      const began = performance.now();
      await call('demo__echo', { message: 'timed' });
      return performance.now() - began;
    },
    stop: async () => {
      const ended = once(child, 'close');
      child.kill('SIGTERM');
      await ended;
      await agent.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
