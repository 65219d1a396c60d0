/**
 * Which of several worker processes this is. A worker that dies is replaced by one with the same seat, so that what
 * belongs to a seat is found at the same place before and afterwards.
 */
import { join } from 'node:path';

export interface Seat {
  /** From 0. */
  readonly number: number;
  /** How many there are. */
  readonly of: number;
  /** Where the sockets of all workers are. Only the user that runs the gateway may enter it. */
  readonly directory: string;
  /** Shared by all workers of this run. */
  readonly secret: string;
}

const variables = {
  seat: 'BASCULE_WORKER_SEAT',
  count: 'BASCULE_WORKER_COUNT',
  directory: 'BASCULE_WORKER_DIRECTORY',
  secret: 'BASCULE_WORKER_SECRET',
} as const;

export function seatVariables({ number, of, directory, secret }: Seat): Record<string, string> {
  return {
    [variables.seat]: String(number),
    [variables.count]: String(of),
    [variables.directory]: directory,
    [variables.secret]: secret,
  };
}

/** Undefined where this process is the only one. Takes the variables away: no process of a backend shall see them. */
export function takeSeat(env: NodeJS.ProcessEnv): Seat | undefined {
  const { seat, count, directory, secret } = variables;
  const taken = { number: Number(env[seat]), of: Number(env[count]), directory: env[directory], secret: env[secret] };
  const isSeated = env[seat] !== undefined;
  for (const name of Object.values(variables)) delete env[name];
  if (!isSeated || taken.directory === undefined || taken.secret === undefined) return undefined;
  return { ...taken, directory: taken.directory, secret: taken.secret };
}

/** Where the worker of a seat takes requests from the others. */
export function socketOf({ directory }: Seat, seat: number): string {
  return join(directory, `${seat}.sock`);
}
