/** How a process ended, and its last lines on stderr. */

/** How many of the last lines to show: a process states the cause of its end there. */
const LAST_LINES = 3;

/** How a process ended. It is the cause of a failure: for the log, never for a peer. */
export class ChildExit extends Error {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;

  constructor(code: number | null, signal: NodeJS.Signals | null, stderr: string) {
    const last = stderr.trimEnd().split('\n').slice(-LAST_LINES).join('\n');
    super(last === '' ? 'nothing on stderr' : `last on stderr: ${last}`);
    this.name = 'ChildExit';
    this.code = code;
    this.signal = signal;
    this.stderr = stderr;
  }
}

export function howEnded(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `ended by ${signal}`;
  return code === null ? 'closed its output' : `exit code ${code}`;
}

/** Shorter values are words such as `true` and `debug`. */
const SECRET_CHARACTERS = 8;

/** Masks the values from the config: any of them may be a secret. */
export function withoutValues(text: string, env: Readonly<Record<string, string>>): string {
  const values = Object.values(env).filter(({ length }) => length >= SECRET_CHARACTERS);
  return values.reduce((shown, value) => shown.replaceAll(value, '***'), text);
}
