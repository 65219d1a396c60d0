/** SHA-256, as the pure rooms are handed it: for shortened names, versions of lists, and keys that would be too long. */
import { createHash } from 'node:crypto';
import type { Digest } from '../catalog/merged-list.ts';

export const digest: Digest = (...parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};
