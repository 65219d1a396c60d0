/** The arguments in an audit record: only those of the configured tools, with the configured paths redacted. */
import { NameSet } from '../policy/names.ts';
import type { AuditedArguments } from './audit.ts';

export const STARS = '***';

/** Common names of secrets. Compared without case, dashes and underscores. */
export const usualSecrets: readonly string[] = [
  ...['**.password', '**.passwd', '**.passphrase', '**.secret', '**.clientSecret', '**.token', '**.accessToken'],
  ...['**.refreshToken', '**.apiKey', '**.privateKey', '**.authorization', '**.cookie', '**.credentials'],
];

const secretNames: ReadonlySet<string> = new Set(usualSecrets.map((path) => folded(path.slice('**.'.length))));

/** Whether a value of this name is usually a secret. */
export function isSecretName(name: string): boolean {
  return secretNames.has(folded(name));
}

/** Deeper than anyone reads. Values below are redacted. */
const DEPTH = 32;

export type Recorded = (name: string | undefined, value: () => unknown) => unknown;

/** Returns undefined if nothing is to be recorded; then the arguments are not even parsed. */
export function recordArguments(settings: AuditedArguments | undefined): Recorded {
  if (settings === undefined) return () => undefined;
  const names = new NameSet(settings.of, 'name');
  const secrets = Redaction.of(settings.redact);
  return (name, value) => {
    if (name === undefined || names.has(name) !== 'yes') return undefined;
    const redacted = redact(value(), secrets, 0);
    const size = Buffer.byteLength(JSON.stringify(redacted) ?? '');
    return size > settings.maxBytes ? { [STARS]: `${size} bytes` } : redacted;
  };
}

/**
 * Paths of values to redact, seen from one value. `*` is one step, `**` any number of steps. Items of a list are steps
 * too, by their index.
 */
export class Redaction {
  readonly #paths: readonly (readonly string[])[];

  static of(paths: readonly string[]): Redaction {
    return new Redaction(paths.map((path) => path.split('.').map(folded)));
  }

  private constructor(paths: readonly (readonly string[])[]) {
    this.#paths = paths;
  }

  /** Whether the value itself is redacted. */
  get hides(): boolean {
    return this.#paths.some((path) => path.every((step) => step === '**'));
  }

  /** The same, seen from a member or an item. */
  within(key: string): Redaction {
    return new Redaction(this.#paths.flatMap(after(folded(key))));
  }
}

function redact(value: unknown, secrets: Redaction, depth: number): unknown {
  if (secrets.hides) return STARS;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH) return STARS;
  const inner = (key: string, member: unknown) => redact(member, secrets.within(key), depth + 1);
  if (Array.isArray(value)) return value.map((item, at) => inner(String(at), item));
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inner(key, member)]));
}

/** The rest of a path after this key. A path that begins with `**` also stays as it is. */
function after(key: string): (path: readonly string[]) => (readonly string[])[] {
  return (path) => {
    const [step, ...rest] = path;
    if (step === '**') return [path, ...after(key)(rest)];
    return step === '*' || step === key ? [rest] : [];
  };
}

function folded(text: string): string {
  return text.toLowerCase().replaceAll(/[-_]/g, '');
}
