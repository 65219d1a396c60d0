/** A tool's annotations, completed with the specification's defaults. */
import type { HintName, Hints } from './rules.ts';
import { hintNames } from './rules.ts';

/**
 * https://modelcontextprotocol.io/specification/2026-07-28/schema#toolannotations: by default, the worse value is
 * assumed.
 */
const silent: Readonly<Record<HintName, boolean>> = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

export type FullHints = Readonly<Record<HintName, boolean>>;

/** `given` is what the backend sent; undefined if it sent nothing or is not trusted. */
export function fullHints(given: unknown): FullHints {
  const said: Readonly<Record<string, unknown>> =
    typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
  const hint = (name: HintName): boolean => {
    const value = Object.hasOwn(said, name) ? said[name] : undefined;
    return typeof value === 'boolean' ? value : silent[name];
  };
  const readOnlyHint = hint('readOnlyHint');
  // For a read-only tool, `destructiveHint` and `idempotentHint` have no meaning.
  return {
    readOnlyHint,
    destructiveHint: !readOnlyHint && hint('destructiveHint'),
    idempotentHint: readOnlyHint || hint('idempotentHint'),
    openWorldHint: hint('openWorldHint'),
  };
}

export function hasHints(wanted: Hints, hints: FullHints): boolean {
  return hintNames.every((name) => wanted[name] === undefined || wanted[name] === hints[name]);
}
