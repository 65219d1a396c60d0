/** The place of everything that outlives the process. */
import { mkdirSync } from 'node:fs';
import { StoreError } from '../errors.ts';

/** Made for this user alone. One that stands already keeps the rights that somebody gave it; the files are closed all the same. */
export function prepareDirectory(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StoreError(
      'unusable',
      `${dir} cannot be made (${code}): name a directory that this user may write`,
      error,
    );
  }
}
