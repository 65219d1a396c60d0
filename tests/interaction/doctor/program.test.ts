/** The commands as people run them: against the demo server, bare and behind a gateway; lines, JSON and exit codes. */
import { dirname, join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { freePort } from '../harness/ports.ts';
import { type Program, serve, start } from '../harness/program.ts';

const demo = () => join(dirname(dirname(inject('executable') ?? '')), 'dist', 'demo.js');

async function run(args: readonly string[]): Promise<{ readonly code: number | null; readonly program: Program }> {
  const program = start(args);
  const { code } = await program.end();
  return { code, program };
}

describe('bascule doctor', verifies('gateway:doctor:command'), () => {
  it('prints a line for each step of the demo server over stdio, and exits with 0', async () => {
    const { code, program } = await run(['doctor', '--', process.execPath, demo()]);
    expect(program.stdout).toMatch(/^ok {7}discover {11}bascule-demo /m);
    expect(program.stdout).toMatch(/^ok {7}initialize {9}bascule-demo .*, version 2025-11-25/m);
    expect(program.stdout).toContain('no step failed');
    expect(code).toBe(0);
  });

  it('goes through a gateway, with a call', async () => {
    const gateway = await serve();
    const { code, program } = await run(['doctor', gateway.url(), '--call', 'echo', '{"message":"hello"}']);
    expect(program.stdout).toMatch(/^ok {7}call {15}echo: a result/m);
    expect(code).toBe(0);
  });

  it('prints one JSON document, and exits with 1, for an address where nothing listens', async () => {
    const port = await freePort();
    const { code, program } = await run(['doctor', `http://127.0.0.1:${port}/mcp`, '--json']);
    const { ok, steps } = JSON.parse(program.stdout);
    expect(ok).toBe(false);
    expect(steps).toHaveLength(1);
    expect(steps[0].failure.finding).toBe('unreachable');
    expect(steps[0].detail).toContain('connection refused');
    expect(code).toBe(1);
  });

  const wrong = [
    { name: 'a header that is none', args: ['http://127.0.0.1/mcp', '--header', 'secret-value'], says: '--header' },
    { name: 'a password in the URL', args: ['http://me:secret-value@127.0.0.1/mcp'], says: 'password' },
    { name: 'an unknown era', args: ['http://127.0.0.1/mcp', '--era', 'stone'], says: '--era' },
    { name: 'arguments that are no JSON', args: ['http://127.0.0.1/mcp', '--call', 'echo', 'hello'], says: '--call' },
    { name: 'a time that is none', args: ['http://127.0.0.1/mcp', '--timeout', 'soon'], says: '--timeout' },
  ];
  for (const { name, args, says } of wrong) {
    it(`refuses ${name}, and does not repeat it`, async () => {
      const { code, program } = await run(['doctor', ...args]);
      expect(program.stderr).toContain(says);
      expect(program.stderr).not.toContain('secret-value');
      expect(code).toBe(1);
    });
  }
});

describe('bascule check', verifies('gateway:check:command'), () => {
  it('breaks nothing of the demo server over stdio, and exits with 0', async () => {
    const { code, program } = await run(['check', '--strict', '--', process.execPath, demo()]);
    expect(program.stdout).toMatch(/^\d+ held, 0 broken/m);
    expect(code).toBe(0);
  });

  it('prints one JSON document about a gateway, and breaks nothing', async () => {
    const gateway = await serve();
    const { code, program } = await run(['check', gateway.url(), '--json', '--strict']);
    const { ok, totals, checks } = JSON.parse(program.stdout);
    expect({ ok, must: totals.brokenMust, should: totals.brokenShould }).toEqual({ ok: true, must: 0, should: 0 });
    expect(totals.held).toBeGreaterThan(90);
    for (const one of checks)
      expect(one).toMatchObject({
        id: expect.any(String),
        behaviour: expect.any(String),
        spec: expect.stringMatching(/^https:/),
      });
    expect(code).toBe(0);
  });
});
