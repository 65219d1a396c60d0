/** Reads and checks `audit`. */
import { resolve } from 'node:path';
import * as z from 'zod';
import { type AuditSettings, type AuditTarget, auditFailures } from '../observe/audit.ts';
import { usualSecrets } from '../observe/audit-redact.ts';
import type { ConfigDocument } from './document.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';
import { listOf, patternOf } from './policy-shapes.ts';
import * as shape from './shapes.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
/** Some 150,000 records. */
const FILE_BYTES = 64 * MiB;
const KEEP = 5;
/** Larger arguments of one call are documents and do not belong in an audit trail. */
const ARGUMENT_BYTES = 4 * KiB;

const redaction = shape.text('a path such as password, headers.* or **.token', /^[^.]+(?:\.[^.]+)*$/);

const auditShape = shape.closed('a map with `to`', {
  to: shape.oneLine,
  maxBytes: shape.quantity({ unit: 'bytes', min: 4 * KiB, max: 1024 * 1024 * MiB }).exactOptional(),
  keep: shape.quantity({ unit: 'count', min: 1, max: 1_000 }).exactOptional(),
  onFailure: shape.choice(auditFailures).exactOptional(),
  arguments: shape
    .closed('a map with `of`', {
      of: listOf(patternOf('name'), 'names of tools and prompts'),
      redact: z.array(redaction, { error: 'a list of paths' }).exactOptional(),
      maxBytes: shape.quantity({ unit: 'bytes', min: 16, max: MiB }).exactOptional(),
    })
    .exactOptional(),
});

export function readAudit(
  document: ConfigDocument,
  directory: string,
  variables: Variables,
): AuditSettings | undefined {
  const value = document.read(['audit'], variables);
  const draft = check(document, ['audit'], value, auditShape.optional());
  if (draft === undefined) return undefined;
  const { to, maxBytes = FILE_BYTES, keep = KEEP, onFailure = 'allow', arguments: recorded } = draft;
  const isStream = to === 'stderr' || to === 'stdout';
  for (const key of ['maxBytes', 'keep'] as const) {
    if (!isStream || draft[key] === undefined) continue;
    document.reportMeaningless(['audit', key], 'where `to` is a file');
  }
  const target: AuditTarget = isStream ? { kind: to } : { kind: 'file', path: resolve(directory, to), maxBytes, keep };
  if (recorded === undefined) return { to: target, onFailure };
  const { of, redact = [], maxBytes: most = ARGUMENT_BYTES } = recorded;
  // A config's own list adds to the usual secrets and does not replace them.
  return { to: target, onFailure, arguments: { of, redact: [...usualSecrets, ...redact], maxBytes: most } };
}
