/** What has become of a request that was handed to another process. */
import { type HttpAnswer, respondFailure } from '../downstream/respond.ts';
import { Failure } from '../errors/failure.ts';

/** In a response to another process: the session is not here. Its value names the process that has it, if known. */
export const MOVED_HEADER = 'bascule-moved';
export const MOVED_STATUS = 421;

export type Forwarded =
  /** The client has got a response, or is gone. */
  | { readonly kind: 'answered' }
  /** The process does not have the session. `to`: which one has it, where that is known. */
  | { readonly kind: 'moved'; readonly to: string | undefined }
  /** The process has not seen the request. */
  | { readonly kind: 'away'; readonly cause: Error }
  | { readonly kind: 'cut'; readonly cause: Error };

/** Ends a response that the other process did not finish. */
export function respondUnavailable(res: HttpAnswer, cause: Error): void {
  if (res.headersSent) res.destroy();
  else {
    res.isLast = true;
    respondFailure(res, new Failure('owner_unavailable', { cause }));
  }
}
