/** `bascule health`: the health check of a container. Exit code 0 where the gateway answers, else 1. */
import { httpAddress } from '../config/shapes.ts';
import type { AskFlags } from './control/client.ts';
import { askerFor } from './control/client.ts';
import { ControlError } from './control/socket-path.ts';
import { configAt, output } from './with-config.ts';

export type HealthFlags = Pick<AskFlags, 'config' | 'socket' | 'url'>;

/** A gateway that takes longer would be restarted by most health checks. */
const ANSWER_MS = 5_000;

/** Returns the exit code. */
export async function health(flags: HealthFlags): Promise<number> {
  try {
    const answer = flags.url === undefined ? overSocket(flags) : overHttp(flags.url);
    output.say(await within(answer));
    return 0;
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    output.remark(error.message);
    return 1;
  }
}

async function overSocket(flags: HealthFlags): Promise<string> {
  const ask = await askerFor(flags, () => configAt(flags.config), output.remark);
  if (ask === undefined) throw new ControlError('the config says which gateway to ask, and it is wrong');
  await ask({ path: '/overview' });
  return 'healthy';
}

async function overHttp(url: string): Promise<string> {
  if (!httpAddress.safeParse(url).success) throw new ControlError('--url must be an http:// or https:// address');
  const address = new URL(url);
  if (address.pathname === '/') address.pathname = '/healthz';
  let status: number;
  try {
    const response = await fetch(address, { redirect: 'error', signal: AbortSignal.timeout(ANSWER_MS) });
    ({ status } = response);
    await response.body?.cancel();
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new ControlError(`${address.origin} cannot be reached: ${cause}`);
  }
  if (status !== 200) throw new ControlError(`${address.pathname} answered HTTP ${status}`);
  return 'healthy';
}

async function within(answer: Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ControlError(`the gateway does not answer within ${ANSWER_MS} ms`)), ANSWER_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
