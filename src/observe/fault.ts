/** Unexpected exceptions: opaque to the peer, complete in the log, and an id that connects the two. */
import { Failure } from '../errors/failure.ts';
import { StoreError } from '../store/errors.ts';
import type { Log } from './log.ts';
import { sourceStack } from './source-stack.ts';

export function createFault(log: Log, newId: () => string): (error: unknown) => Failure {
  return (error) => {
    if (error instanceof Failure && error.reason !== 'internal_error') {
      if (error.row.blame !== 'client') log.debug({ reason: error.reason, cause: textOf(error.cause) }, error.message);
      return error;
    }
    if (error instanceof StoreError) {
      log.warn({ kind: error.kind }, error.message);
      return new Failure('store_unavailable', { cause: error });
    }
    const logId = newId();
    const cause = error instanceof Failure ? error.cause : error;
    log.error({ logId, cause: sourceStack(cause) }, 'unexpected failure');
    return new Failure('internal_error', { data: { logId }, cause });
  };
}

function textOf(cause: unknown): string | undefined {
  if (cause === undefined) return undefined;
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}
