/** What lies between: exactness, exchanges, back-pressure, and the stores. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayCore = {
  'gateway:isolation:interleavings': held({
    spec: 'gateway',
    behaviour:
      'In any interleaving of principals and hostile backends each principal gets only its own answers, and all well-behaved principals are served.',
  }),
  'gateway:lossless:unknown-members': held({
    spec: 'gateway',
    behaviour: 'Members of `params` and results that the gateway does not know survive in both directions.',
  }),
  'gateway:lossless:number-spelling': held({
    spec: 'gateway',
    behaviour: 'Numbers keep their spelling, `12345678901234567890` and `1.0` included.',
  }),
  'gateway:lossless:key-order': held({
    spec: 'gateway',
    behaviour: 'The order of members survives.',
  }),
  'gateway:lossless:string-escapes': held({
    spec: 'gateway',
    behaviour: 'Strings keep the escapes with which they were written.',
  }),
  'gateway:lossless:trace-context': held({
    spec: '2026-07-28/basic#_meta',
    behaviour: 'Trace context in `_meta` survives.',
  }),
  'gateway:lossless:large-result': held({
    spec: 'gateway',
    behaviour: 'A large result passes unchanged, and one over the limit fails with a named reason.',
  }),
  'gateway:exchange:one-settle': held({
    spec: 'gateway',
    behaviour: 'An exchange settles exactly once, in every race.',
  }),
  'gateway:exchange:id-zero': held({
    spec: 'gateway',
    behaviour: 'Id 0 and progress token 0 are valid like any other.',
  }),
  'gateway:exchange:id-types': held({
    spec: 'gateway',
    behaviour: 'The number 0 and the string "0" are two ids.',
  }),
  'gateway:exchange:top-level': held({
    spec: 'gateway',
    behaviour:
      'The top level of a forwarded MCP message is exactly `jsonrpc`, `id`, `method`, `params`, `result`, `error`; other members are dropped.',
  }),
  'gateway:exchange:ask-unambiguous': held({
    spec: 'gateway',
    behaviour:
      'A server request with a duplicate member, or with a member that differs from a name of the protocol only in case, does not reach the client: a legacy backend is answered `ambiguous_json`, the call of a modern one fails as `backend_invalid`.',
  }),
  'gateway:exchange:unguessable-ids': held({
    spec: 'gateway',
    behaviour: 'Ids of requests to a backend are random, so no caller can name the request of another caller.',
  }),
  'gateway:exchange:progress-own-token': held({
    spec: '2025-11-25/basic/utilities/progress#behavior-requirements',
    behaviour: 'Progress goes only to the token that its client gave, while the request lives.',
  }),
  'gateway:exchange:no-cross-wiring': held({
    spec: 'gateway',
    behaviour: 'Clients that use the same ids and tokens at the same backend get their own answers and progress.',
  }),
  'gateway:exchange:asks-correlated': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'Two concurrent server requests each get their own answer, in whatever order the answers arrive.',
  }),
  'gateway:exchange:ask-withdrawn': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A server request that its backend cancelled is cancelled at the client, and a late answer is dropped.',
  }),
  'gateway:outbox:ordered': held({
    spec: 'gateway',
    behaviour: 'Messages on one stream arrive in the order sent.',
  }),
  'gateway:outbox:progress-coalesced': held({
    spec: 'gateway',
    behaviour: 'When a reader is slow, progress is coalesced to the newest.',
  }),
  'gateway:outbox:logs-dropped': held({
    spec: 'gateway',
    behaviour: 'When a reader is slow, log messages are dropped and counted.',
  }),
  'gateway:outbox:never-dropped': held({
    spec: 'gateway',
    behaviour: 'Server requests and results are never dropped.',
  }),
  'gateway:outbox:reader-cut-off': held({
    spec: 'gateway',
    behaviour: 'A client that reads nothing is cut off, and can resume where its revision lets it.',
  }),
  'gateway:outbox:backend-not-stalled': held({
    spec: 'gateway',
    behaviour: 'A slow client does not stall the other clients of a shared backend.',
  }),
  'gateway:store:contract': held({
    spec: 'gateway',
    behaviour: 'Every store keeps, expires and deletes records in the same way, verified by one suite.',
  }),
  'gateway:store:lease': held({
    spec: 'gateway',
    behaviour: 'Of several concurrent requests for one lease exactly one gets it.',
  }),
  'gateway:store:bus': held({
    spec: 'gateway',
    behaviour: 'A published message reaches every subscriber of its topic, and no subscriber that has unsubscribed.',
  }),
} satisfies Record<string, Requirement>;
