/** What a tool says of itself, with what the specification says of tools that are silent. */
import type { HintName, Hints } from './rules.ts';
import { hintNames } from './rules.ts';

/** https://modelcontextprotocol.io/specification/2026-07-28/schema#toolannotations: what cannot be known is the worse of the two. */
const silent: Readonly<Record<HintName, boolean>> = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

export type FullHints = Readonly<Record<HintName, boolean>>;

/** `given` is whatever a backend wrote; undefined where it wrote nothing, or is not believed. */
export function fullHints(given: unknown): FullHints {
  const said: Readonly<Record<string, unknown>> =
    typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {};
  const hint = (name: HintName): boolean => {
    const value = Object.hasOwn(said, name) ? said[name] : undefined;
    return typeof value === 'boolean' ? value : silent[name];
  };
  const readOnlyHint = hint('readOnlyHint');
  // Of a tool that changes nothing, the others mean nothing.
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
