/** Profiles, at an endpoint and at a backend: their shapes, checks and defaults. */
import * as z from 'zod';
import { askKinds } from '../policy/actions.ts';
import type { BackendProfile, FullProfile } from '../policy/profile.ts';
import { type Revision, revisions } from '../wire/revisions.ts';
import type { ConfigDocument, Path } from './document.ts';
import { type Limits, limitTable } from './limits.ts';
import * as shape from './shapes.ts';

/** The only revision with batches, which its implementations MUST accept. */
const batchRevision: Revision = '2025-03-26';

/**
 * Dates only: the meaning of a word such as `latest` would change with the gateway's version, and so would what is
 * allowed.
 */
const revisionList = shape.someOf(shape.choice(revisions), 'revisions', 'revision').exactOptional();

export const profileShape = shape.closed('a map of settings', {
  revisions: revisionList,
  batches: shape.choice(['deny', 'allow']).exactOptional(),
  accept: shape.choice(['lenient', 'strict']).exactOptional(),
  elicitation: shape.choice(['any', 'flat']).exactOptional(),
  toolNames: shape.choice(['any', 'plain']).exactOptional(),
  bodyBytes: shape.quantity(limitTable.bodyBytes).exactOptional(),
  jsonDepth: shape.quantity(limitTable.jsonDepth).exactOptional(),
});
export type FullProfileDraft = z.infer<typeof profileShape>;

export const backendProfileShape = shape.closed('a map of settings', {
  // An empty list is valid: such a backend may send no server requests.
  asks: z.array(shape.choice(askKinds), { error: 'a list of sampling, elicitation and roots' }).exactOptional(),
  revisions: revisionList,
});
type BackendProfileDraft = z.infer<typeof backendProfileShape>;

/** Checks beyond the shape: duplicate entries and contradictory settings. */
export function checkFullProfile(
  document: ConfigDocument,
  path: Path,
  profile: FullProfileDraft,
  limits: Pick<Limits, 'bodyBytes' | 'jsonDepth'>,
): void {
  const given = profile.revisions ?? [];
  checkTwice(document, [...path, 'revisions'], given);
  if (profile.batches === 'allow' && given.length > 0 && !given.includes(batchRevision)) {
    const expected = `\`${batchRevision}\` among the \`revisions\`: no other revision has batches`;
    document.report([...path, 'batches'], { message: '`batches: allow` has no effect here', expected });
  }
  for (const name of ['bodyBytes', 'jsonDepth'] as const) {
    const value = profile[name];
    if (value === undefined || value <= limits[name]) continue;
    const expected = `at most ${limits[name]}, or a higher \`${name}\` under \`limits\``;
    document.report([...path, name], { message: `\`${name}\` is higher than under \`limits\``, expected });
  }
}

export function checkBackendProfile(document: ConfigDocument, path: Path, profile: BackendProfileDraft): void {
  checkTwice(document, [...path, 'asks'], profile.asks ?? []);
  checkTwice(document, [...path, 'revisions'], profile.revisions ?? []);
}

function checkTwice(document: ConfigDocument, path: Path, given: readonly string[]): void {
  given.forEach((one, at) => {
    if (given.indexOf(one) < at) document.report([...path, at], { message: `\`${one}\` is in this list already` });
  });
}

/**
 * Batches are denied by default. While they are denied, the one revision that requires them is not negotiated unless
 * the list names it. `initialize` offers its clients the newest legacy revision instead.
 * https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 */
export function buildFullProfile(draft: FullProfileDraft = {}): FullProfile {
  const { batches = 'deny' } = draft;
  const admitted = draft.revisions ?? revisions.filter((one) => batches === 'allow' || one !== batchRevision);
  const inOrder = revisions.filter((one) => admitted.includes(one));
  return { accept: 'lenient', elicitation: 'any', toolNames: 'any', ...draft, batches, revisions: inOrder };
}

export function buildBackendProfile(draft: BackendProfileDraft = {}): BackendProfile {
  return { asks: askKinds, revisions, ...draft };
}

export function deviationsOf(profile: FullProfile): string[] {
  if (profile.batches === 'allow' || !profile.revisions.includes(batchRevision)) return [];
  return [`supports ${batchRevision} but refuses batches, which that revision requires servers to accept`];
}
