/** Hard denials: wire forms that an endpoint does not have. Decided before any rule, the same in every mode and on every way in. */
import { Failure } from '../errors.ts';
import { hasBatches, type Profile, type Revision } from '../wire/revisions.ts';

/** 2025-03-26 must receive batches; no other revision has them. Said as soon as the array is seen: no member is parsed. */
export function denyBatch(profile: Profile, revision: Revision | undefined): Failure | undefined {
  const allowed = profile.batches === 'allow' && revision !== undefined && hasBatches(revision);
  return allowed ? undefined : new Failure('unsupported_mcp_batch');
}
