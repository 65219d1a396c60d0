/** Settings from the command line, which override the file. */
import * as z from 'zod';
import { type LogLevel, logLevels } from './config.ts';
import { portShape } from './listen.ts';
import type { Problem } from './problems.ts';
import { choice, flag, listenHost } from './shapes.ts';

/** Not validated yet. */
export interface Overrides {
  readonly host?: string | undefined;
  readonly port?: string | number | undefined;
  readonly openToNetwork?: boolean | undefined;
  readonly logLevel?: string | undefined;
}

export interface CheckedOverrides {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly openToNetwork?: boolean | undefined;
  readonly logLevel?: LogLevel | undefined;
}

const overridesShape = z.object({
  host: listenHost.optional(),
  port: portShape.optional(),
  openToNetwork: flag.optional(),
  logLevel: choice(logLevels).optional(),
});

export function checkOverrides(given: Overrides, problems: Problem[]): CheckedOverrides {
  const checked = overridesShape.safeParse(given);
  if (checked.success) return checked.data;
  for (const { path, message } of checked.error.issues) {
    problems.push(onCommandLine({ message: `\`${path.join('.')}\` has a wrong value`, expected: message }));
  }
  return {};
}

export function onCommandLine(complaint: Pick<Problem, 'message' | 'expected'>): Problem {
  return { file: 'command line', line: 0, column: 0, ...complaint };
}
