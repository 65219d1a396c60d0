/** Decides whether a trace is exported, before anything of it is built. */
import type { SamplerSettings } from './settings.ts';

/** The last 13 digits of a trace id are random: 52 bits, which a number holds exactly. */
const DIGITS = 13;
const RANGE = 2 ** 52;

/** Equal trace ids get equal decisions, in every process with the same ratio. */
export function isSampled(
  { parentBased, ratio }: SamplerSettings,
  traceId: string,
  parent: { readonly isSampled: boolean } | undefined,
): boolean {
  if (parentBased && parent !== undefined) return parent.isSampled;
  if (ratio >= 1) return true;
  return ratio > 0 && Number.parseInt(traceId.slice(-DIGITS), 16) < ratio * RANGE;
}
