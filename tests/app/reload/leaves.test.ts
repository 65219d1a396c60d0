/** What one config hands on to the next: the place of the records, and when it is left. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AUDIT_CLOSE_MS, AuthorizerFactory } from '../../../src/app/authorizer-factory.ts';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { Failure } from '../../../src/errors/failure.ts';
import { localPrincipal } from '../../../src/identity/principal.ts';
import { CoalescedLog } from '../../../src/observe/coalesced.ts';
import { Counters } from '../../../src/observe/counters.ts';
import type { Log } from '../../../src/observe/log.ts';
import { RefusalLog } from '../../../src/observe/refusals.ts';
import type { Authorizer } from '../../../src/policy/authorizer.ts';
import { LeapClock } from '../../interaction/harness/clock.ts';

const quiet = () => undefined;
const silent: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

function scene() {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-leaves-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = new LeapClock();
  const counters = new Counters();
  const refusals = new RefusalLog(new CoalescedLog({ log: silent, after: (ms, action) => clock.after(ms, action) }));
  const options = { log: silent, counters, clock, timeOfDay: Date.now, stdoutIsProtocol: false, refusals };
  const leaves = new AuthorizerFactory(options);
  const pathOf = (name: string) => join(folder, name);
  const configOf = (name: string): Config => {
    const text = JSON.stringify({
      backends: { b: { url: 'http://127.0.0.1:9/mcp' } },
      audit: { to: pathOf(name) },
    });
    return loadConfig({ path: 'bascule.yaml', cwd: folder, env: {}, readFile: () => text }).config;
  };
  const record = (leave: Authorizer, { endpoints: [endpoint] }: Config) =>
    leave.refused({ principal: localPrincipal(), endpoint: endpoint! }, new Failure('too_deep'));
  return { clock, counters, leaves, pathOf, configOf, record };
}

describe('a place for records', () => {
  test('is not left for one of a config that never came in force', async () => {
    const { leaves, configOf, pathOf, record } = scene();
    const config = configOf('old');
    const leave = leaves.adopt(leaves.make(config));
    leaves.make(configOf('new'));
    record(leave, config);
    await leaves.close(AUDIT_CLOSE_MS);
    expect(readFileSync(pathOf('old'), 'utf8').trim().split('\n')).toHaveLength(1);
    expect(existsSync(pathOf('new'))).toBe(false);
  });

  test('that was left is waited for at the end, and what did not get there by then is counted', async () => {
    const { clock, counters, leaves, configOf, pathOf, record } = scene();
    // Nobody reads it: whoever writes there waits.
    execFileSync('mkfifo', [pathOf('slow')]);
    const config = configOf('slow');
    const leave = leaves.adopt(leaves.make(config));
    record(leave, config);
    leaves.adopt(leaves.make(configOf('new')));
    const closed = leaves.close(AUDIT_CLOSE_MS).then(() => counters.snapshot()['audit.lost']);
    await new Promise((resolve) => setImmediate(resolve));
    clock.leap(AUDIT_CLOSE_MS);
    expect(await closed).toBe(1);
    await readFile(pathOf('slow'));
  });
});
