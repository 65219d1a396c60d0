/**
 * SHA-256, which is handed to the pure folders: for shortened names, list versions, and keys that would be too long.
 */
import { createHash } from 'node:crypto';
import type { Digest } from '../catalog/merged-list.ts';

export const digest: Digest = (...parts) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};
