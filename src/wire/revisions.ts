/** The protocol revisions that exist, and the two eras they fall into. */

/** Oldest first, by date. Code may compare positions in this list. */
export const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'] as const;

export type Revision = (typeof revisions)[number];

/**
 * `legacy` opens with `initialize` and keeps sessions; in `modern` every request carries its own `_meta`.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#terminology
 */
export type Era = 'legacy' | 'modern';

const firstModern: Revision = '2026-07-28';

export function isRevision(value: unknown): value is Revision {
  return (revisions as readonly unknown[]).includes(value);
}

export function era(revision: Revision): Era {
  return revision >= firstModern ? 'modern' : 'legacy';
}

/** The revisions that exist, with their eras, by what a peer names. */
export const knownRevisions: ReadonlyMap<unknown, { readonly revision: Revision; readonly era: Era }> = new Map(
  revisions.map((revision) => [revision, { revision, era: era(revision) }]),
);

/** Dates compare as text. */
export function atLeast(revision: Revision, other: Revision): boolean {
  return revision >= other;
}

/** The last revision without a version header: assumed for a client that sends none. */
export const withoutHeader: Revision = '2025-03-26';

/** Only 2025-03-26 has batches, and receivers must support them. */
export function hasBatches(revision: Revision): boolean {
  return revision === '2025-03-26';
}

/** Streams begin with a priming event for resumption, and a server may close a stream so that the client polls. */
export function hasPolling(revision: Revision): boolean {
  return revision === '2025-11-25';
}

export function newest(among: readonly Revision[], of?: Era): Revision | undefined {
  let found: Revision | undefined;
  for (const revision of among) {
    const isWanted = of === undefined || era(revision) === of;
    if (isWanted && (found === undefined || revision > found)) found = revision;
  }
  return found;
}

/**
 * Which revisions and wire forms an endpoint accepts. Whatever the profile does not allow is denied before any other
 * check.
 */
export interface Profile {
  readonly revisions: readonly Revision[];
  /**
   * Only 2025-03-26 has batches, and receivers must support them. Every other revision refuses them, whatever this
   * says.
   */
  readonly batches: 'deny' | 'allow';
  /**
   * `strict` requires both media types in `Accept`, as the specification does of clients. `lenient` serves what is
   * accepted.
   */
  readonly accept: 'lenient' | 'strict';
}
