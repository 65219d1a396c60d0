import { execFileSync } from 'node:child_process';

/** Runs a program to its end, and returns what it says. Fails where the program fails, with its words. */
export function run(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
