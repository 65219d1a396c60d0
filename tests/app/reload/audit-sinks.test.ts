/** What one config hands on to the next: the place of the records, and when it is left. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { BuiltGeneration } from '../../../src/app/build-generation.ts';
import { makeAuthorizer } from '../../../src/app/make-authorizer.ts';
import { AUDIT_CLOSE_MS, RetiredGenerations } from '../../../src/app/retired-generations.ts';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { Failure } from '../../../src/errors/failure.ts';
import { localPrincipal } from '../../../src/identity/principal.ts';
import { CoalescedLog } from '../../../src/observe/coalesced.ts';
import { Counters } from '../../../src/observe/counters.ts';
import type { Log } from '../../../src/observe/log.ts';
import { RefusalLog } from '../../../src/observe/refusals.ts';
import { CurrentGeneration } from '../../../src/pipeline/generation.ts';
import { BackendInFlight } from '../../../src/pipeline/in-flight.ts';
import type { Authorizer } from '../../../src/policy/authorizer.ts';
import { LeapClock } from '../../interaction/harness/clock.ts';
import { Workshop } from '../generations.ts';

const quiet = () => undefined;
const silent: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

function scene() {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-leaves-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = new LeapClock();
  const counters = new Counters();
  const refusals = new RefusalLog(new CoalescedLog({ log: silent, after: (ms, action) => clock.after(ms, action) }));
  const currentGeneration = new CurrentGeneration<BuiltGeneration>();
  const options = {
    log: silent,
    counters,
    clock,
    timeOfDay: Date.now,
    stdoutIsProtocol: false,
    refusals,
    warn: quiet,
    watchers: [],
    counts: {},
    pins: { make: () => undefined },
  };
  const currentAudit = () => currentGeneration.now.audit;
  const parts = new Workshop();
  parts.makeAuthorizer = (config, before) => makeAuthorizer(config, { ...options, currentAudit }, before);
  const retired = new RetiredGenerations(new BackendInFlight(), clock);
  const leaves = {
    make: (config: Config) => parts.build(config, currentGeneration.now),
    adopt: (next: BuiltGeneration) => {
      if (currentGeneration.now !== undefined) retired.retire(currentGeneration.now, next);
      currentGeneration.swap(next);
      return next.authorizer;
    },
    close: () => retired.close(currentGeneration.now),
  };
  const pathOf = (name: string) => join(folder, name);
  const configOf = (name: string): Config => {
    const text = JSON.stringify({
      backends: { b: { url: 'http://127.0.0.1:9/mcp' } },
      audit: { to: pathOf(name) },
    });
    return loadConfig({ path: 'bascule.yaml', cwd: folder, env: {}, readFile: () => text }).config;
  };
  const record = (leave: Authorizer, { endpoints: [endpoint] }: Config) =>
    leave.trail.refused({ principal: localPrincipal(), endpoint: endpoint! }, new Failure('too_deep'));
  return { clock, counters, leaves, pathOf, configOf, record };
}

describe('a record store', () => {
  test('is not replaced by one of a config that was never applied', async () => {
    const { leaves, configOf, pathOf, record } = scene();
    const config = configOf('old');
    const leave = leaves.adopt(leaves.make(config));
    leaves.make(configOf('new'));
    record(leave, config);
    await leaves.close();
    expect(readFileSync(pathOf('old'), 'utf8').trim().split('\n')).toHaveLength(1);
    expect(existsSync(pathOf('new'))).toBe(false);
  });

  test('that was replaced is drained at shutdown, and records that were not written by then are counted', async () => {
    const { clock, counters, leaves, configOf, pathOf, record } = scene();
    // Nobody reads it: whoever writes there waits.
    execFileSync('mkfifo', [pathOf('slow')]);
    const config = configOf('slow');
    const leave = leaves.adopt(leaves.make(config));
    record(leave, config);
    leaves.adopt(leaves.make(configOf('new')));
    const closed = leaves.close().then(() => counters.snapshot()['audit.lost']);
    await new Promise((resolve) => setImmediate(resolve));
    clock.leap(AUDIT_CLOSE_MS);
    expect(await closed).toBe(1);
    await readFile(pathOf('slow'));
  });
});
