/** `bascule health`, as the health check of a container asks. */
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { freePort } from '../harness/ports.ts';
import { run, serve } from '../harness/program.ts';
import { workplace } from '../harness/workplace.ts';

const port = await freePort();
const config = (url: string) => ({ 'bascule.yaml': `store: { dir: state }\nbackends:\n  b: { url: ${url} }\n` });
/** Nothing listens there. */
const silent = `http://127.0.0.1:${port}/mcp`;

describe('bascule health', verifies('gateway:run:health-command'), () => {
  it('ends with 0 while a gateway runs, also where no backend can be reached, and with 1 after it', async () => {
    const { folder } = workplace();
    const { program } = await serve([], { folder, files: config(silent) });
    const { exit, stdout } = await run(['health'], { folder });
    expect([exit.code, stdout]).toEqual([0, 'healthy\n']);
    program.kill('SIGTERM');
    await program.end();
    const after = await run(['health'], { folder });
    expect(after.exit.code).toBe(1);
    expect(after.stderr).toContain('no gateway is running');
  });

  it('asks an address: /healthz by itself, and /readyz where it is named', async () => {
    const { origin } = await serve([], { files: config(silent) });
    expect((await run(['health', '--url', origin])).exit.code).toBe(0);
    const unready = await run(['health', '--url', `${origin}/readyz`]);
    expect([unready.exit.code, unready.stderr]).toEqual([1, '/readyz answered HTTP 503\n']);
  });

  it('ends with 1 and the cause where nothing listens, or the address is none', async () => {
    const nothing = await run(['health', '--url', `http://127.0.0.1:${port}`]);
    expect(nothing.exit.code).toBe(1);
    expect(nothing.stderr).toContain('ECONNREFUSED');
    const wrong = await run(['health', '--url', 'gateway']);
    expect([wrong.exit.code, wrong.stderr]).toEqual([1, '--url must be an http:// or https:// address\n']);
  });

  it('ends with 1 where the gateway accepts and says nothing', async () => {
    const mute = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void mute.close());
    await new Promise((resolve) => mute.once('listening', resolve));
    const { port: at } = mute.address() as { readonly port: number };
    const { exit, stderr } = await run(['health', '--url', `http://127.0.0.1:${at}`]);
    expect(exit.code).toBe(1);
    expect(stderr).toMatch(/timeout|within/);
  });
});
