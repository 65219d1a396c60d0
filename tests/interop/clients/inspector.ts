/** The MCP Inspector's command line: one process for each step. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Job, Outcome, Step } from '../job.ts';

const [node = '', inspector = '', jobFile = ''] = process.argv.slice(2);
const STEP_LIMIT_MS = 60_000;

function place({ target, era }: Job): string[] {
  const how = era === 'auto' ? [] : ['--protocol-era', era];
  if ('url' in target) return [target.url, '--transport', 'http', ...how];
  const env = Object.entries(target.env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  return [target.command, ...target.args, ...env, ...how];
}

/** A value that is no text is spelled as JSON. */
const pairs = (values: unknown, flag: string): string[] =>
  Object.entries(values ?? {}).flatMap(([name, value]) => [
    flag,
    `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  ]);

function asked({ method, params }: Step): string[] {
  const about: Readonly<Record<string, string[]>> = {
    'tools/call': ['--tool-name', String(params.name), ...pairs(params.arguments, '--tool-arg')],
    'prompts/get': ['--prompt-name', String(params.name), ...pairs(params.arguments, '--prompt-args')],
    'resources/read': ['--uri', String(params.uri)],
  };
  return ['--method', method, ...(about[method] ?? [])];
}

/** A server that the Inspector starts writes its log to the same stderr. The Inspector's own report is JSON. */
function ownLines(stderr = ''): string {
  const lines = stderr.trim().split('\n');
  const report = lines.findIndex((line) => line.startsWith('{'));
  return lines.slice(Math.max(0, report)).join('\n');
}

async function take(job: Job, step: Step): Promise<Outcome> {
  const { target } = job;
  const options = {
    ...('url' in target ? {} : { cwd: target.cwd }),
    env: process.env,
    timeout: STEP_LIMIT_MS,
  };
  try {
    const { stdout } = await promisify(execFile)(node, [inspector, ...place(job), ...asked(step)], options);
    return { result: JSON.parse(stdout) };
  } catch (error) {
    const { stderr, stdout } = error as { stderr?: string; stdout?: string };
    // A tool's own failure is an answer too, with another exit code.
    if (stdout?.trim().startsWith('{')) return { result: JSON.parse(stdout) };
    return { error: { message: ownLines(stderr) || String(error) } };
  }
}

const job = JSON.parse(await readFile(jobFile, 'utf8')) as Job;
const outcomes: Outcome[] = [];
for (const step of job.steps) outcomes.push(await take(job, step));
console.log(JSON.stringify({ connected: null, outcomes, heard: [] }));
