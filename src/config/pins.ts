/** Reads and checks `pins`. The pin file is read with the config, so that a change of it is a reload. */
import { resolve } from 'node:path';
import { type PinSettings, pinModes } from '../pins/ports.ts';
import type { ConfigDocument } from './document.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';
import * as shape from './shapes.ts';

const pinsShape = shape.closed('a map with `file`', {
  file: shape.oneLine,
  mode: shape.choice(pinModes).exactOptional(),
});

/** A pin file that cannot be read is no mistake of the config: the gateway serves, and holds what is not pinned. */
export function readPins(document: ConfigDocument, directory: string, variables: Variables): PinSettings | undefined {
  const draft = check(document, ['pins'], document.read(['pins'], variables), pinsShape.optional());
  if (draft === undefined) return undefined;
  const { file, mode = 'hold' } = draft;
  return { file: resolve(directory, file), mode, content: contentOf(resolve(directory, file), variables) };
}

function contentOf(path: string, { readFile }: Variables): PinSettings['content'] {
  try {
    const text = readFile?.(path);
    return text === undefined ? { problem: 'there is no such file', isMissing: true } : { text };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
    return { problem: `it cannot be read (${code})` };
  }
}
