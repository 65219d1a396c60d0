/** Claude Code's `claude mcp list`: connects to the servers of its configuration and says which of them answer. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment, Job } from '../job.ts';

const [claude = '', jobFile = ''] = process.argv.slice(2);
const LIMIT_MS = 60_000;

const { target } = JSON.parse(await readFile(jobFile, 'utf8')) as Job;
const home = await mkdtemp(join(tmpdir(), 'bascule-claude-'));
/** It makes no other connections than those to the servers. */
const env = { ...process.env, HOME: home, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' };
const run = (...args: string[]) => promisify(execFile)(claude, args, { cwd: home, env, timeout: LIMIT_MS });
try {
  const variables = (env: Environment) => Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const how =
    'url' in target
      ? [target.url, '--transport', 'http']
      : [...variables(target.env), '--', target.command, ...target.args];
  await run('mcp', 'add', '--scope', 'user', 'it', ...how);
  const { stdout } = await run('mcp', 'list');
  // What stands before the dash is the address or the command, which differ of course.
  const line = stdout.split('\n').find((text) => text.startsWith('it:')) ?? stdout;
  console.log(JSON.stringify({ connected: line.slice(line.lastIndexOf(' - ')), outcomes: [], heard: [] }));
} finally {
  await rm(home, { recursive: true, force: true });
}
