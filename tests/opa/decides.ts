/** The recipe "with OPA" of docs/policy-decisions.md, with OPA itself. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { recipe } from '../interaction/decisions/recipes.ts';
import { type Json, send } from '../interaction/harness/client.ts';
import { keyRing } from '../interaction/harness/credentials.ts';
import { modern } from '../interaction/harness/eras.ts';
import { freePort } from '../interaction/harness/ports.ts';
import { call, openHouse, paths } from '../interaction/policy/setup.ts';

const READY_MS = 20_000;

/** The address of an OPA that serves this policy. */
async function startOpa(rego: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-opa-'));
  writeFileSync(join(folder, 'mcp.rego'), rego);
  const address = `127.0.0.1:${await freePort()}`;
  const args = ['run', '--server', '--disable-telemetry', '--addr', address, join(folder, 'mcp.rego')];
  const opa = spawn(process.env.OPA ?? 'opa', args, { stdio: 'ignore' });
  onTestFinished(() => {
    opa.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const deadline = Date.now() + READY_MS;
  while (
    !(await fetch(`http://${address}/health`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (Date.now() > deadline) throw new Error('OPA does not start');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return `http://${address}`;
}

it('OPA decides calls and lists by the documented policy', async () => {
  const { rego = '', config } = recipe('With OPA');
  const opa = await startOpa(rego);
  const ring = keyRing();
  const [ci, other] = [ring.make('ci'), ring.make('other')];
  const policy = JSON.parse(JSON.stringify(config.policy).replaceAll('http://127.0.0.1:8181', opa));
  const house = await openHouse({ more: { policy, identity: { keys: { file: ring.path } } } });
  const ask = async (key: string, request: object): Promise<Json> => {
    const sent = modern(request as Parameters<typeof modern>[0]);
    const headers = { ...sent.headers, authorization: `Bearer ${key}` };
    return (await send(`${house.gateway.origin}${paths.single}`, { ...sent, headers })).json();
  };
  expect((await ask(ci, call('read_file'))).result.content[0].text).toBe('read_file');
  expect(house.records.at(-1)?.decisions).toMatchObject([{ point: 'opa', effect: 'allow' }]);
  expect((await ask(ci, call('delete_file'))).error.data).toMatchObject({ decisionPoint: 'opa' });
  expect((await ask(ci, call('delete_file', { dryRun: true }))).result.content[0].text).toBe('delete_file');
  expect((await ask(other, call('list_files'))).error.data).toMatchObject({ decisionPoint: 'opa' });
  const listed = await ask(ci, { method: 'tools/list' });
  expect(listed.result.tools.map(({ name }: Json) => name)).toEqual(['read_file', 'delete_file', 'list_files']);
  expect((await ask(other, { method: 'tools/list' })).result.tools.map(({ name }: Json) => name)).toEqual([
    'read_file',
  ]);
  // An error in the evaluation, and a rule that does not exist.
  const undefinedRule = JSON.parse(JSON.stringify(policy).replace('/v1/data/mcp/allow', '/v1/data/mcp/nothing'));
  house.reload({ policy: undefinedRule, identity: { keys: { file: ring.path } } });
  expect((await ask(ci, call('read_file'))).error.data).toMatchObject({
    reason: 'policy_denied',
    decisionPoint: 'opa',
  });
});
