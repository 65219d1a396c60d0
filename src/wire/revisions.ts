/** The protocol revisions that exist, and the two eras they fall into. */

/** Oldest first. The order is the order of the dates, and code may compare positions in it. */
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

/** Dates compare as text. */
export function atLeast(revision: Revision, other: Revision): boolean {
  return revision >= other;
}

/** The last revision without a version header: what a client that sends none is taken for. */
export const withoutHeader: Revision = '2025-03-26';

/** 2025-03-26 alone has batches, and must receive them. */
export function hasBatches(revision: Revision): boolean {
  return revision === '2025-03-26';
}

/** Streams begin with an event to resume from, and a server may close one and be polled. */
export function hasPolling(revision: Revision): boolean {
  return revision === '2025-11-25';
}

export function newest(among: readonly Revision[], of?: Era): Revision | undefined {
  return among
    .filter((revision) => of === undefined || era(revision) === of)
    .sort()
    .at(-1);
}

/** Which revisions and wire forms an endpoint accepts. What a profile does not admit is denied before anything else looks at it. */
export interface Profile {
  readonly revisions: readonly Revision[];
  /** 2025-03-26 alone has batches, and must receive them; every other revision refuses them whatever stands here. */
  readonly batches: 'deny' | 'allow';
  /** `strict` wants both media types in `Accept`, as the specification tells clients; `lenient` serves what is accepted. */
  readonly accept: 'lenient' | 'strict';
}
