/** Two transcripts of the same script, with the gateway and without: where they differ. */
import { groupBy } from './grouping.ts';
import type { Step, Transcript } from './job.ts';
import { labelOf } from './steps.ts';

/** One place where the transcripts differ. `undefined`: that side has nothing there. */
export interface Deviation {
  /**
   * `connected.capabilities.tools`, `tools/call echo {...}.result.content.0.text`, `heard.notifications/message.0.data`
   */
  readonly path: string;
  readonly direct: unknown;
  readonly through: unknown;
}

interface Script {
  readonly steps: readonly Step[];
  /** Methods of which equal messages count once. */
  readonly repeats?: readonly string[] | undefined;
}

export function compare(script: Script, direct: Transcript, through: Transcript): Deviation[] {
  const found: Deviation[] = [];
  walk('', shape(script, direct), shape(script, through), found);
  return found;
}

/** Steps that have no outcome, or one that the gateway alone can have caused. */
export function ownErrors(steps: readonly Step[], { outcomes }: Transcript): Deviation[] {
  return steps.flatMap((step, index) => {
    const through = outcomes[index];
    const isOurs = through === undefined || JSON.stringify(through).includes('"reason":"');
    const path = `${index + 1}. ${labelOf(step)}.error`;
    return isOurs
      ? [{ path, direct: undefined, through: through && 'error' in through ? through.error : through }]
      : [];
  });
}

/**
 * Keyed by what was done. `params` of a notification or a server's request may be absent or empty: the schema makes no
 * difference. What the server sent by itself is in order for each method; between methods there is no order.
 */
function shape({ steps, repeats = [] }: Script, { connected, outcomes, heard }: Transcript): unknown {
  const shaped: Record<string, unknown> = { connected: normalise(connected) };
  steps.forEach((step, index) => {
    shaped[`${index + 1}. ${labelOf(step)}`] = normalise(outcomes[index]);
  });
  const byMethod = groupBy(heard, ({ method }) => method);
  for (const [method, all] of byMethod) {
    const told = all.map(({ params }) => normalise(params ?? {}));
    shaped[`heard ${method}`] = repeats.includes(method) ? distinct(told) : told;
  }
  return shaped;
}

function distinct(values: readonly unknown[]): unknown[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/** Ids and times that must differ between any two runs. */
const MUST_DIFFER = new Set(['progressToken', 'elicitationId', 'requestState']);
const TEXTS: readonly { readonly pattern: RegExp; readonly is: string }[] = [
  { pattern: /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, is: '<uuid>' },
  { pattern: /\b\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?/g, is: '<time>' },
  { pattern: /http:\/\/127\.0\.0\.1:\d+(\/servers\/it)?/g, is: '<address>' },
];

function normalise(value: unknown): unknown {
  if (typeof value === 'string') return TEXTS.reduce((text, { pattern, is }) => text.replace(pattern, is), value);
  if (Array.isArray(value)) return value.map(normalise);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(members.map(([name, inner]) => [name, MUST_DIFFER.has(name) ? '<id>' : normalise(inner)]));
}

function walk(path: string, direct: unknown, through: unknown, found: Deviation[]): void {
  if (isTree(direct) && isTree(through) && Array.isArray(direct) === Array.isArray(through)) {
    for (const name of new Set([...Object.keys(direct), ...Object.keys(through)])) {
      walk(path === '' ? name : `${path}.${name}`, direct[name], through[name], found);
    }
  } else if (direct !== through) {
    found.push({ path, direct, through });
  }
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
