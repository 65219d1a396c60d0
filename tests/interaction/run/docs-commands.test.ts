/** Every example of docs/commands.md does what the page says. */
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { until } from '../harness/client.ts';
import { Program } from '../harness/program.ts';

const page = readFileSync(new URL('../../../docs/commands.md', import.meta.url), 'utf8');

interface DocSection {
  readonly title: string;
  readonly commands: readonly string[];
}

const sections: readonly DocSection[] = page.split(/^## /m).flatMap((section) => {
  const block = /^```sh\n([\s\S]*?)^```/m.exec(section)?.[1];
  if (block === undefined) return [];
  return [{ title: section.split('\n', 1)[0] ?? '', commands: block.trim().split('\n') }];
});

/** A folder in which `bascule` is a command, with the files that the examples name. Ports are free ones. */
function workplace() {
  const executable = inject('executable') ?? '';
  const folder = mkdtempSync(join(tmpdir(), 'bascule-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const run = `exec "${process.execPath}" "${executable}"`;
  writeFileSync(
    join(bin, 'bascule'),
    `#!/bin/sh\nif [ "$1" = serve ]; then shift; ${run} serve --port 0 "$@"; fi\n${run} "$@"\n`,
  );
  chmodSync(join(bin, 'bascule'), 0o755);
  const demo = join(dirname(dirname(executable)), 'dist', 'demo.js');
  const servers = { demo: { command: process.execPath, args: [demo], env: { API_KEY: 'made-up' } } };
  writeFileSync(join(folder, 'mcp.json'), JSON.stringify({ mcpServers: servers }));
  writeFileSync(join(folder, 'server.mjs'), `await import(${JSON.stringify(demo)});\n`);
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder };
  return (command: string): Program => {
    const child = spawn('sh', ['-c', `exec ${command}`], { cwd: folder, env });
    const program = new Program(child);
    onTestFinished(async () => {
      if (program.running) child.kill('SIGKILL');
      await program.exited;
    });
    return program;
  };
}

describe(
  'the examples of docs/commands.md',
  verifies('gateway:control:commands', 'gateway:serve:given-backend'),
  () => {
    it.each(sections)('$title', { timeout: 60_000 }, async ({ title, commands }) => {
      const start = workplace();
      if (title === 'Ask a running gateway') await start('bascule serve mcp.json').says(/^ {2}demo {2}ready/m);
      for (const command of commands) {
        const program = start(command);
        if (/^bascule serve/.test(command)) {
          await program.says(/^Backends:/m);
          program.kill('SIGTERM');
        } else if (/^bascule stdio/.test(command)) program.endInput();
        const exit = await program.end();
        expect({ command, exit, said: program.obituary }).toMatchObject({ exit: { code: 0, signal: null } });
      }
    });

    it('has one for every command that it names', async () => {
      const said = workplace()('bascule --help');
      await said.end();
      await until(() => said.stdout.includes('Commands:'), 'the help is there');
      const shown = ['serve', 'stdio', 'init', 'link', 'unlink', 'status', 'tools', 'call'];
      for (const name of shown) {
        expect(said.stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'));
        expect(sections.some(({ commands }) => commands.some((line) => line.startsWith(`bascule ${name}`)))).toBe(true);
      }
    });
  },
);
