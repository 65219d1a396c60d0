/** Validates a value of a config file against its schema, and turns zod's issues into problems with a position. */
import type * as z from 'zod';
import type { ConfigDocument, Path } from './document.ts';
import { keysOffered } from './shapes.ts';

export function check<Out>(
  document: ConfigDocument,
  path: Path,
  value: unknown,
  schema: z.ZodType<Out>,
): Out | undefined {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) reportIssue(document, path, value, issue);
  return undefined;
}

function reportIssue(document: ConfigDocument, base: Path, value: unknown, issue: z.core.$ZodIssue): void {
  const path = [...base, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) {
      const candidates = keysOffered(issue.message);
      const message = `unknown key \`${key}\``;
      document.reportKey([...path, key], { message, expected: issue.message, candidates, wrong: key });
    }
    return;
  }
  if (issue.code === 'invalid_key') {
    const expected = issue.issues[0]?.message ?? issue.message;
    document.reportKey(path, { message: `\`${nameOf(path)}\` can't be a key here`, expected });
    return;
  }
  const wrong = issue.path.reduce<unknown>(member, value);
  const message = `\`${nameOf(path)}\` ${wrong === undefined ? 'is missing' : 'has a wrong value'}`;
  const isChoice = issue.code === 'invalid_value' && typeof wrong === 'string';
  const choice = isChoice ? { candidates: issue.values.map(String), wrong } : {};
  document.report(path, { message, expected: issue.message, ...choice });
}

function member(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined;
}

/** The last name in the path: `args` for its third item. */
function nameOf(path: Path): string {
  return String(path.findLast((step) => typeof step === 'string') ?? 'the file');
}
