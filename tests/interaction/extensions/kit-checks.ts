/** What the official kit finds at an address. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runKit } from '../../conformance/kit.ts';

/** What each check of a scenario that no revision contains came to, apart from remarks. */
export async function checksOf(url: string, scenario: string): Promise<readonly string[]> {
  const outDir = await mkdtemp(join(tmpdir(), 'bascule-kit-'));
  onTestFinished(() => rm(outDir, { recursive: true, force: true }));
  const result = await runKit({ url: new URL(url), scenario, outDir });
  return (result.get(scenario) ?? [])
    .filter(({ status }) => status !== 'INFO')
    .map(({ id, status, errorMessage }) => `${id} ${status} ${status === 'SUCCESS' ? '' : errorMessage}`.trim());
}
