/**
 * Limits of a client's subscriptions and of its listen streams. Unlike the rest of a request, URIs are kept as long as
 * a session or stream.
 */
import { Failure } from '../errors/failure.ts';
import { Tally } from '../exchange/tally.ts';
import type { Principal } from '../identity/principal.ts';
import type { Request } from '../wire/message.ts';
import { readFilter } from '../wire/subscription-filter.ts';

export interface SubscriptionLimits {
  readonly subscriptionsPerClient: number;
  readonly subscriptionBytesPerClient: number;
}

/** RFC 9110, section 4.1, recommends to support URIs of 8,000 octets. Longer ones are rare, and clients cut them. */
const URI_BYTES = 8 * 1024;

/** Returns the size of a URI in bytes. Throws where it is too long. */
export function checkUri(uri: string): number {
  const bytes = Buffer.byteLength(uri);
  if (bytes <= URI_BYTES) return bytes;
  const message = `The URI to subscribe to has ${bytes} bytes; at most ${URI_BYTES} are allowed: use a shorter one`;
  throw new Failure('uri_too_long', { message });
}

/**
 * A `subscriptions/listen` request is kept whole as long as its stream. Throws where it is too large, or names too many
 * resources.
 */
export function checkListen(request: Request, limits: SubscriptionLimits): void {
  if (request.bytes.byteLength > limits.subscriptionBytesPerClient) throw tooManyBytes(limits);
  const uris = readFilter(request)?.resourceSubscriptions ?? [];
  if (uris.length > limits.subscriptionsPerClient) throw tooManySubscriptions(limits);
  for (const uri of uris) checkUri(uri);
}

export function tooManySubscriptions({ subscriptionsPerClient }: SubscriptionLimits): Failure {
  return new Failure('too_many_subscriptions', {
    message: `A client may subscribe to ${subscriptionsPerClient} resources at a time: unsubscribe from some first`,
  });
}

export function tooManyBytes({ subscriptionBytesPerClient }: SubscriptionLimits): Failure {
  return new Failure('too_many_subscriptions', {
    message: `The URIs that a client subscribes to may have ${subscriptionBytesPerClient} bytes in total: unsubscribe from some first`,
  });
}

/** Counts the open `subscriptions/listen` streams of each principal, up to `limits.listenStreams`. */
export class ListenSlots {
  readonly #most: number;
  readonly #open = new Tally();

  constructor(most: number) {
    this.#most = most;
  }

  /** Reserves a slot, or throws. Call the returned function when the stream is over; a second call does nothing. */
  take({ key }: Principal): () => void {
    if (this.#open.of(key) >= this.#most) throw new Failure('too_many_requests', { message: 'Too many subscriptions' });
    this.#open.add(key, 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#open.add(key, -1);
      isHeld = false;
    };
  }
}
