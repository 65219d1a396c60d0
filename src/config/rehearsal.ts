/** Reads and checks `rehearsal`: where facts of requests are recorded for `bascule policy rehearse`. */
import { resolve } from 'node:path';
import type { RecordingSettings } from '../policy/recorded-request.ts';
import type { ConfigDocument } from './document.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';
import * as shape from './shapes.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
/** Some 50,000 requests. */
const FILE_BYTES = 16 * MiB;
const KEEP = 2;

const rehearsalShape = shape.closed('a map with `file`', {
  file: shape.oneLine,
  maxBytes: shape.quantity({ unit: 'bytes', min: 4 * KiB, max: 1024 * MiB }).exactOptional(),
  keep: shape.quantity({ unit: 'count', min: 1, max: 100 }).exactOptional(),
});

export function readRehearsal(
  document: ConfigDocument,
  directory: string,
  variables: Variables,
): RecordingSettings | undefined {
  const draft = check(document, ['rehearsal'], document.read(['rehearsal'], variables), rehearsalShape.optional());
  if (draft === undefined) return undefined;
  const { file, maxBytes = FILE_BYTES, keep = KEEP } = draft;
  return { path: resolve(directory, file), maxBytes, keep };
}
