/** The shapes of profiles in a file, at an endpoint and at a backend. */
import * as z from 'zod';
import { type AskKind, askKinds } from '../policy/actions.ts';
import type { BackendProfile, FullProfile } from '../policy/profile.ts';
import { revisions } from '../wire/revisions.ts';
import type { ConfigDocument, Path } from './document.ts';
import { batchRevision, buildProfile } from './endpoints.ts';
import { limitTable } from './limits.ts';
import * as shape from './shapes.ts';

/**
 * Dates only: the meaning of a word such as `latest` would change with the gateway's version, and so would what is
 * allowed.
 */
const revision = shape.choice(revisions);
const revisionList = z
  .array(revision, { error: 'a list of revisions' })
  .min(1, { error: 'at least one revision' })
  .optional();

export const profileShape = shape.closed('a map of settings', {
  revisions: revisionList,
  batches: shape.choice(['deny', 'allow']).optional(),
  accept: shape.choice(['lenient', 'strict']).optional(),
  elicitation: shape.choice(['any', 'flat']).optional(),
  toolNames: shape.choice(['any', 'plain']).optional(),
  bodyBytes: shape.quantity(limitTable.bodyBytes).optional(),
  jsonDepth: shape.quantity(limitTable.jsonDepth).optional(),
});
export type FullProfileDraft = z.infer<typeof profileShape>;

export const backendProfileShape = shape.closed('a map of settings', {
  // An empty list is valid: such a backend may send no server requests.
  asks: z.array(shape.choice(askKinds), { error: 'a list of sampling, elicitation and roots' }).optional(),
  revisions: revisionList,
});
export type BackendProfileDraft = z.infer<typeof backendProfileShape>;

export interface CommonLimits {
  readonly bodyBytes: number;
  readonly jsonDepth: number;
}

/** Checks beyond the shape: duplicate entries and contradictory settings. */
export function checkFullProfile(
  document: ConfigDocument,
  path: Path,
  profile: FullProfileDraft,
  limits: CommonLimits,
): void {
  const given = profile.revisions ?? [];
  checkTwice(document, [...path, 'revisions'], given);
  if (profile.batches === 'allow' && given.length > 0 && !given.includes(batchRevision)) {
    const expected = `\`${batchRevision}\` among the \`revisions\`: no other revision has batches`;
    document.report([...path, 'batches'], { message: '`batches: allow` allows nothing here', expected });
  }
  for (const name of ['bodyBytes', 'jsonDepth'] as const) {
    const value = profile[name];
    if (value === undefined || value <= limits[name]) continue;
    const expected = `at most ${limits[name]}, or a higher \`${name}\` under \`limits\``;
    document.report([...path, name], { message: `\`${name}\` is higher than that of all endpoints`, expected });
  }
}

export function checkBackendProfile(document: ConfigDocument, path: Path, profile: BackendProfileDraft): void {
  checkTwice(document, [...path, 'asks'], profile.asks ?? []);
  checkTwice(document, [...path, 'revisions'], profile.revisions ?? []);
}

export function buildFullProfile(draft: FullProfileDraft = {}): FullProfile {
  const { elicitation = 'any', toolNames = 'any', bodyBytes, jsonDepth, batches, accept } = draft;
  return {
    ...buildProfile({ revisions: draft.revisions, batches, accept }),
    elicitation,
    toolNames,
    ...(bodyBytes !== undefined && { bodyBytes }),
    ...(jsonDepth !== undefined && { jsonDepth }),
  };
}

export function buildBackendProfile(draft: BackendProfileDraft = {}): BackendProfile {
  const asks: readonly AskKind[] = draft.asks ?? askKinds;
  return { asks, revisions: draft.revisions ?? revisions };
}

function checkTwice(document: ConfigDocument, path: Path, given: readonly string[]): void {
  given.forEach((one, at) => {
    if (given.indexOf(one) < at) document.report([...path, at], { message: `\`${one}\` is in this list already` });
  });
}
