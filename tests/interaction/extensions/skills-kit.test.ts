/** The scenarios of the official kit for skills, which no revision contains: they run without one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runKit } from '../../conformance/kit.ts';
import { verifies } from '../../requirements/verifies.ts';
import { startGateway } from '../harness/gateway.ts';
import { openLibrary } from './library.ts';

const scenarios = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory'];

/** What each check came to, apart from remarks. */
async function checksOf(url: string, scenario: string): Promise<readonly string[]> {
  const outDir = await mkdtemp(join(tmpdir(), 'bascule-kit-'));
  onTestFinished(() => rm(outDir, { recursive: true, force: true }));
  const result = await runKit({ url: new URL(url), scenario, outDir });
  return (result.get(scenario) ?? [])
    .filter(({ status }) => status !== 'INFO')
    .map(({ id, status, errorMessage }) => `${id} ${status} ${status === 'SUCCESS' ? '' : errorMessage}`.trim());
}

it.each(scenarios)(
  '%s gives the same through the gateway as directly',
  { ...verifies('gateway:extensions:skills'), timeout: 120_000 },
  async (scenario) => {
    const libraries = { one: await openLibrary('one'), two: await openLibrary('two') };
    const gateway = await startGateway({
      backends: { one: { url: libraries.one.url }, two: { url: libraries.two.url } },
    });
    const direct = await checksOf(libraries.one.url, scenario);
    expect(direct.filter((check) => check.includes('SUCCESS')).length).toBeGreaterThan(0);
    expect(direct.filter((check) => check.includes('FAILURE'))).toEqual([]);
    expect(await checksOf(gateway.url('one'), scenario)).toEqual(direct);
    const merged = await checksOf(gateway.url(), scenario);
    expect(merged.filter((check) => /FAILURE|SKIPPED/.test(check))).toEqual(
      direct.filter((check) => check.includes('SKIPPED')),
    );
  },
);
