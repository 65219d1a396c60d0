/**
 * Every guide of docs/guides, from top to bottom: a block that names a file is written, and each line of a `sh` block
 * is run. A comment at the end of a line is the output that the reader is promised.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { failures } from '../../../src/errors/failure.ts';
import { verifies } from '../../requirements/verifies.ts';
import { DEADLINE_MS } from '../harness/client.ts';
import { freePort } from '../harness/ports.ts';
import type { Program } from '../harness/program.ts';
import { workplace } from '../harness/workplace.ts';

const guides = new URL('../../../docs/guides/', import.meta.url);

interface Block {
  readonly language: string;
  /** The file that the block is, where it names one. */
  readonly file: string | undefined;
  readonly text: string;
}

function blocksIn(page: string): readonly Block[] {
  const text = readFileSync(new URL(page, guides), 'utf8');
  return [...text.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```/gm)].map(([, language = '', file, body = '']) => ({
    language,
    file,
    text: body,
  }));
}

const runnable = readdirSync(guides).filter((page) => blocksIn(page).some(({ language }) => language === 'sh'));

describe('the guide', verifies('gateway:docs:guides'), () => {
  it.each(runnable)('%s', { timeout: 60_000 }, async (page) => {
    const { folder, run, serve } = workplace();
    const port = await freePort();
    const real = (text: string) =>
      text.replaceAll('127.0.0.1:8808', `127.0.0.1:${port}`).replace('port: 8808', `port: ${port}`);
    // The server that the guides start.
    const demo = join(dirname(dirname(inject('executable') ?? '')), 'dist', 'demo.js');
    writeFileSync(join(folder, 'server.mjs'), `await import(${JSON.stringify(demo)});\n`);
    let serving: Program | undefined;
    for (const { language, file, text } of blocksIn(page)) {
      if (file !== undefined) writeFileSync(join(folder, file), real(text));
      if (language !== 'sh') continue;
      for (const line of text.trim().split('\n')) {
        if (line.startsWith('bascule serve')) {
          serving?.kill('SIGTERM');
          await serving?.end();
          serving = await serve('--port', String(port), ...line.split(' ').slice(2));
          continue;
        }
        const [, command = line, expected] = /^(.*?)\s+# (.*)$/.exec(line) ?? [];
        if (expected === undefined) await run(real(command));
        else
          await expect
            .poll(async () => (await run(real(command))).trim(), { timeout: DEADLINE_MS, message: line })
            .toBe(expected);
      }
    }
  });

  it('troubleshooting.md names reasons that exist', () => {
    const reasons = readFileSync(new URL('troubleshooting.md', guides), 'utf8').matchAll(
      /^\| (?:\d+ )?`(\w+)` \| (?!cause)/gm,
    );
    const named = [...reasons].map(([, reason = '']) => reason);
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((reason) => !Object.hasOwn(failures, reason))).toEqual([]);
  });

  it('is named in the index', () => {
    const index = readFileSync(new URL('README.md', guides), 'utf8');
    const pages = readdirSync(guides).filter((page) => page !== 'README.md');
    expect(pages.filter((page) => !index.includes(`(${page})`))).toEqual([]);
  });
});
