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
  const paths = settings.redact.map((path) => path.split('.').map(folded));
  return (name, value) => {
    if (name === undefined || names.has(name) !== 'yes') return undefined;
    const redacted = redact(value(), paths, 0);
    const size = Buffer.byteLength(JSON.stringify(redacted) ?? '');
    return size > settings.maxBytes ? { [STARS]: `${size} bytes` } : redacted;
  };
}

const secretPaths = usualSecrets.map((path) => path.split('.').map(folded));

/** The value without what stands under the usual names of secrets. */
export function withoutSecrets(value: unknown): unknown {
  return redact(value, secretPaths, 0);
}

/** `*` is one step, `**` any number of steps. Items of a list are steps too, by their index. */
function redact(value: unknown, paths: readonly (readonly string[])[], depth: number): unknown {
  if (paths.some((path) => path.every((step) => step === '**'))) return STARS;
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH) return STARS;
  const inner = (key: string, member: unknown) => redact(member, paths.flatMap(after(folded(key))), depth + 1);
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
