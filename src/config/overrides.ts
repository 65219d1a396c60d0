/** Settings from the command line, which override the file. */
import * as z from 'zod';
import { logLevels } from './config.ts';
import { portShape } from './listen.ts';
import type { Problem } from './problems.ts';
import { choice, flag, listenHost } from './shapes.ts';

const overridesShape = z.object({
  host: listenHost.optional(),
  port: portShape.optional(),
  openToNetwork: flag.optional(),
  logLevel: choice(logLevels).optional(),
  logRequests: flag.optional(),
});

/** Not validated yet. */
export type Overrides = Readonly<Partial<Record<keyof CheckedOverrides, unknown>>>;
export type CheckedOverrides = z.infer<typeof overridesShape>;

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
