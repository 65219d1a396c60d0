/** The recipes of docs/identity.md do what they say. Addresses that are made up there are real ones here. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { DEADLINE_MS } from '../harness/client.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { launchOidc } from '../harness/oidc.ts';
import { freePort } from '../harness/ports.ts';
import { Program } from '../harness/program.ts';

const page = readFileSync(new URL('../../../docs/identity.md', import.meta.url), 'utf8');

interface Recipe {
  readonly title: string;
  readonly config: string;
  readonly commands: readonly string[];
}

const recipes: readonly Recipe[] = page.split(/^## /m).flatMap((section) => {
  const block = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(section)?.[1];
  const [config, commands] = [block('yaml'), block('sh')];
  if (config === undefined || commands === undefined) return [];
  return [{ title: section.split('\n', 1)[0] ?? '', config, commands: commands.trim().split('\n') }];
});

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version']);
    return true;
  } catch {
    return false;
  }
}

/** A folder in which `bascule` is a command. */
function workplace(): { folder: string; env: NodeJS.ProcessEnv } {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const command = join(folder, 'bascule');
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${inject('executable')}' "$@"\n`);
  chmodSync(command, 0o755);
  return { folder, env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder } };
}

describe.skipIf(!hasCurl())('the recipe', () => {
  it.each(recipes)(
    '$title',
    { ...verifies('gateway:identity:recipes'), timeout: 60_000 },
    async ({ config, commands }) => {
      const issuer = await launchOidc('mcp:use tools:call');
      onTestFinished(() => issuer.close());
      const backend = await modernBackend();
      const port = await freePort();
      const real = (text: string) =>
        text
          .replaceAll('https://login.example', issuer.url)
          .replaceAll('http://127.0.0.1:3001', new URL(backend.url).origin)
          .replaceAll('127.0.0.1:8808', `127.0.0.1:${port}`);
      const { folder, env } = workplace();
      writeFileSync(join(folder, 'bascule.yaml'), `${real(config)}\nlisten: { port: ${port} }\n`);
      let checked = 0;
      for (const line of commands) {
        if (line === 'bascule serve') {
          const child = spawn('bascule', ['serve'], { cwd: folder, env });
          const program = new Program(child);
          onTestFinished(async () => {
            child.kill('SIGTERM');
            await program.exited;
          });
          await program.says(/^Bascule \S+ {2}http/m);
          continue;
        }
        const [, command = line, expected] = /^(.*?)\s+# (.*)$/.exec(line) ?? [];
        const run = async () =>
          (await promisify(execFile)('sh', ['-c', real(command)], { cwd: folder, env })).stdout.trim();
        if (expected === undefined) {
          await run();
          continue;
        }
        // The key file is looked at every two seconds.
        await expect.poll(run, { timeout: DEADLINE_MS, message: line }).toBe(expected);
        checked += 1;
      }
      expect(checked).toBeGreaterThan(2);
    },
  );

  it('has all of its settings in a config that is understood', verifies('gateway:identity:recipes'), async () => {
    const settings = /^## The settings\n[\s\S]*?```yaml\n([\s\S]*?)```/m.exec(page)?.[1] ?? '';
    const { folder, env } = workplace();
    writeFileSync(join(folder, 'bascule.yaml'), settings);
    const { stdout } = await promisify(execFile)('bascule', ['config', 'check'], { cwd: folder, env });
    expect(stdout).toContain('/team/mcp');
  });
});

it('there are three of them', verifies('gateway:identity:recipes'), () => {
  expect(recipes.map(({ title }) => title)).toHaveLength(3);
});
