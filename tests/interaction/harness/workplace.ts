/** A folder in which `bascule` is a command, for what the documentation tells people to type. */
import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject, onTestFinished } from 'vitest';
import { Program } from './program.ts';

export function workplace() {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'bascule'), `#!/bin/sh\nexec '${process.execPath}' '${inject('executable')}' "$@"\n`);
  chmodSync(join(folder, 'bascule'), 0o755);
  const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder };
  return {
    folder,
    run: async (command: string) => (await promisify(execFile)('sh', ['-c', command], { cwd: folder, env })).stdout,
    /** `bascule serve`, until the test is over or it is ended. */
    serve: async (...args: readonly string[]) => {
      const child = spawn('bascule', ['serve', ...args], { cwd: folder, env });
      const program = new Program(child);
      onTestFinished(async () => {
        child.kill('SIGTERM');
        await program.exited;
      });
      await program.says(/^Bascule \S+ {2}http/m);
      return program;
    },
  };
}

/** The code blocks of one section of a page, by language. */
export function blocksOf(page: string, section: string, language: string): readonly string[] {
  const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
  const part = text.split(/^## /m).find((one) => one.startsWith(section)) ?? '';
  return [...part.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, body = '']) => body);
}
