/** The part that the TypeScript drivers share: read the job, take its steps one by one, print the transcript. */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Heard, Job, Outcome, Step, Transcript } from '../job.ts';

export interface Connected {
  /** What the library shows of the server after connecting. */
  readonly shown: unknown;
  request(step: Step): Promise<unknown>;
  close(): Promise<void>;
}

export type Connect = (job: Job, hear: (heard: Heard) => void) => Promise<Connected>;

type Page = { readonly nextCursor?: unknown };

/** All pages of a list, as they came. */
async function pagesOf(step: Step, request: Connected['request']): Promise<unknown> {
  const pages: unknown[] = [];
  let params = step.params;
  for (;;) {
    const page = (await request({ ...step, params })) as Page;
    pages.push(page);
    if (page.nextCursor === undefined) return { pages };
    params = { ...params, cursor: page.nextCursor };
  }
}

async function take(step: Step, request: Connected['request']): Promise<Outcome> {
  try {
    return { result: step.method.endsWith('/list') ? await pagesOf(step, request) : await request(step) };
  } catch (error) {
    return { error: shownError(error) };
  }
}

function shownError(error: unknown): { code?: number; message: string; data?: unknown } {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code, data } = error as Error & { code?: unknown; data?: unknown };
  return {
    ...(typeof code === 'number' ? { code } : {}),
    message: error.message,
    ...(data === undefined ? {} : { data }),
  };
}

export async function drive(connect: Connect): Promise<void> {
  const job = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as Job;
  const heard: Heard[] = [];
  const client = await connect(job, (one) => heard.push(one));
  const outcomes: Outcome[] = [];
  for (const step of job.steps) outcomes.push(await take(step, (one) => client.request(one)));
  await delay(job.settleMs);
  await client.close();
  const transcript: Transcript = { connected: client.shown, outcomes, heard };
  process.stdout.write(`${JSON.stringify(transcript)}\n`, () => process.exit(0));
}
