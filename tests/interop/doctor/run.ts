/**
 * `doctor` and `check` against servers of the official SDKs in Python, Go and Rust.
 *
 *   tsx tests/interop/doctor/run.ts [--only <pattern>]
 *
 * Installs what it needs into `tests/interop/.cache/` (pinned, once). `doctor` must find no fault. The rules that
 * `check` finds broken must be those of `deviations.ts`. What cannot be installed or started is a failure. Needs Python
 * 3.11, Go and Rust; TypeScript servers are in tests/interaction/doctor.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runChecks } from '../../../src/doctor/check/run.ts';
import { diagnose } from '../../../src/doctor/diagnose.ts';
import type { Target } from '../../../src/doctor/visit.ts';
import { install, whyMissing } from '../install.ts';
import { freePort, serve } from '../processes.ts';
import { SERVER_ROWS, type Server } from '../servers.ts';
import { CACHE } from '../software.ts';
import { deviations } from './deviations.ts';

/** Cold starts on a busy machine included. */
const TIMEOUT_MS = 60_000;

type Transport = 'stdio' | 'http';

interface Subject {
  readonly title: string;
  readonly server: Server;
  readonly transport: Transport;
}

const official = ['mcp (Python) 2.3.0', 'go-sdk 1.8.0', 'rmcp 3.8.0'];

const subjects: readonly Subject[] = SERVER_ROWS.flatMap((server) => {
  const name = `${server.name} ${server.version}`;
  if (!official.includes(name)) return [];
  return (['stdio', 'http'] as const)
    .filter((transport) => server[transport] !== undefined)
    .map((transport) => ({ title: `${name} over ${transport}`, server, transport }));
});

/** Runs with the address or the command of the server, and ends it. */
async function withTarget<T>({ server, transport }: Subject, run: (target: Target) => Promise<T>): Promise<T> {
  const workdir = join(CACHE, 'doctor');
  await mkdir(workdir, { recursive: true });
  if (transport === 'stdio') {
    const { command, args } = server.stdio?.(workdir) ?? { command: '', args: [] };
    return run({ kind: 'stdio', command, args });
  }
  const port = await freePort();
  const launch = server.http?.(port, workdir);
  if (launch === undefined) throw new Error('it has no HTTP');
  const serving = await serve(launch, port, workdir, join(workdir, 'server.log'));
  try {
    return await run({ kind: 'http', url: `http://127.0.0.1:${port}/mcp`, headers: {} });
  } finally {
    await serving.stop();
  }
}

/** What is not as expected. */
async function examine(subject: Subject): Promise<string[]> {
  const usual = { eras: ['modern', 'legacy'] as const, timeoutMs: TIMEOUT_MS };
  return withTarget(subject, async (target) => {
    const quiet = { register: false, login: false, openPage: () => undefined };
    const steps = await diagnose({ target, ...usual, ...quiet }, () => undefined);
    const checks = await runChecks({ target, ...usual }, () => undefined);
    const found = checks.filter(({ outcome }) => outcome === 'broken');
    const known = deviations[subject.title] ?? [];
    const ids = found.map(({ era, id }) => `${era} ${id}`);
    const held = checks.filter(({ outcome }) => outcome === 'held').length;
    const opened = steps.filter(({ step, state }) => (step === 'discover' || step === 'initialize') && state === 'ok');
    console.log(`${subject.title}: ${opened.length} eras, ${held} held, ${found.length} broken`);
    return [
      ...steps.flatMap(({ step, failure, detail }) =>
        failure ? [`doctor: ${step}: ${failure.finding}: ${detail}`] : [],
      ),
      ...(opened.length === 0 ? ['doctor: no era could be opened'] : []),
      ...found
        .filter((_, at) => !known.includes(ids[at] ?? ''))
        .map(({ era, id, level, found: seen, bytes }) =>
          [`check: ${era} ${id} (${level}): ${seen}`, bytes?.sent, bytes?.received].join('\n'),
        ),
      ...known.filter((id) => !ids.includes(id)).map((id) => `check: ${id} is held now: remove it from deviations.ts`),
    ];
  });
}

const { values: options } = parseArgs({ options: { only: { type: 'string' } } });
const wanted = subjects.filter(({ title }) => options.only === undefined || new RegExp(options.only).test(title));
await mkdir(CACHE, { recursive: true });
const missing = await install(wanted.map(({ server }) => server.needs));
for (const subject of wanted) {
  const why = whyMissing(missing, subject.server.needs);
  const problems = why === undefined ? await examine(subject).catch((error) => [String(error)]) : [`needs: ${why}`];
  for (const problem of problems) console.error(`${subject.title}: ${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
