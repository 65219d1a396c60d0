/** Writes the pin file in one step, unless it was changed meanwhile. */
import { replaceFile } from '../../app/key-files.ts';
import { ListFileError } from '../../identity/list-file.ts';
import type { PinSettings } from '../../pins/ports.ts';

/** It belongs into a repository, and has no secrets. */
const EVERYBODY_READS = 0o644;

/** False where it was not written; that was said. */
export function replacePinFile(
  file: string,
  before: PinSettings['content'],
  text: string,
  remark: (text: string) => void,
): boolean {
  try {
    replaceFile(
      file,
      (now) => {
        if (now !== ('text' in before ? before.text : undefined)) throw new ListFileError('it was changed meanwhile');
        return text;
      },
      EVERYBODY_READS,
    );
    return true;
  } catch (error) {
    if (!(error instanceof ListFileError) && !(error instanceof Error && 'code' in error)) throw error;
    remark(`${file}: ${error.message}`);
    return false;
  }
}
