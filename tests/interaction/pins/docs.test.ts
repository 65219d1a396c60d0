/** The steps of docs/pins.md, as they stand there. What is made up there is real here. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pinClasses } from '../../../src/pins/classify.ts';
import { verifies } from '../../requirements/verifies.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { run } from '../harness/program.ts';
import { fileIn, readTool } from './setup.ts';

const page = readFileSync(new URL('../../../docs/pins.md', import.meta.url), 'utf8');
const block = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(page)?.[1] ?? '';

it('the steps lead from nothing to a pinned server', verifies('gateway:pins:commands'), async () => {
  const whole = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  const backend = await modernBackend(
    { 'tools/list': (turn) => turn.result({ ...whole, tools: [readTool] }) },
    { capabilities: { tools: {} } },
  );
  const folder = join(fileIn(), '..');
  const config = block('yaml').replace('http://127.0.0.1:3001/mcp', backend.url);
  writeFileSync(join(folder, 'bascule.yaml'), config);
  const steps = block('sh').trim().split('\n');
  expect(steps).toHaveLength(2);
  for (const step of steps) {
    const [command = '', said = ''] = step.split(/\s+# /);
    const { exit, stdout } = await run(command.split(' ').slice(1), { folder });
    expect(exit.code).toBe(0);
    if (command.endsWith('verify')) expect(stdout.trim()).toBe(said);
  }
  expect(existsSync(join(folder, 'pins.txt'))).toBe(true);
});

it('the page has every class', verifies('gateway:pins:classes'), () => {
  for (const one of pinClasses) expect(page).toContain(`\`${one}\``);
});
