/** The scenarios of the official kit for skills, which no revision contains: they run without one. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { startGateway } from '../harness/gateway.ts';
import { checksOf } from './kit-checks.ts';
import { openLibrary } from './library.ts';

const scenarios = ['sep-2640-skills-enumeration', 'sep-2640-skills-manifest', 'sep-2640-skills-directory'];

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
