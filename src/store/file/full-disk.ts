import { StoreError } from '../errors.ts';

export function fullDisk(path: string, cause: unknown): StoreError {
  return new StoreError('full', `there is no room left for ${path}: free some space on its disk`, cause);
}
