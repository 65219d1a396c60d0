/** Nothing crosses without leave: identity and policy. */
import type { Requirement } from '../requirement.ts';
import { deferred } from '../requirement.ts';

export const gatewayLeave = {
  'gateway:identity:no-credentials': deferred('identity', {
    spec: '2025-11-25/basic/authorization#protected-resource-metadata-discovery-requirements',
    behaviour:
      'Without credentials the answer is 401 with a challenge that holds no `error=`, and a JSON-RPC body with the id.',
  }),
  'gateway:identity:bad-token': deferred('identity', {
    spec: '2025-11-25/basic/authorization#token-handling',
    behaviour: 'A bad token is 401 `invalid_token` with a specific description, never a 500.',
  }),
  'gateway:identity:insufficient-scope': deferred('identity', {
    spec: '2025-11-25/basic/authorization#runtime-insufficient-scope-errors',
    behaviour: 'A missing scope is 403, naming all scopes that the operation needs.',
  }),
  'gateway:identity:envelope-style': deferred('identity', {
    spec: 'gateway',
    behaviour: 'Where an endpoint says so, a missing key is 200 with a -32001 error body and the id of the request.',
  }),
  'gateway:identity:query-key': deferred('identity', {
    spec: 'gateway',
    behaviour: 'A key in the query string counts only where the endpoint opts in, and is neither logged nor passed on.',
  }),
  'gateway:identity:audience-compare': deferred('identity', {
    spec: '2025-11-25/basic/authorization#canonical-server-uri',
    behaviour: 'Audiences are compared in canonical form; sibling and child paths differ.',
  }),
  'gateway:identity:token-not-forwarded': deferred('identity', {
    spec: '2025-11-25/basic/authorization#access-token-privilege-restriction',
    behaviour: "The client's token never reaches a backend.",
  }),
  'gateway:identity:token-expires': deferred('identity', {
    spec: 'gateway',
    behaviour: 'A stream ends soon after the token that opened it expired or was revoked.',
  }),
  'gateway:identity:session-bound': deferred('identity', {
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A session of another principal is 404, as if it did not exist.',
  }),
  'gateway:identity:state-bound': deferred('identity', {
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'A `requestState` of another principal is -32602.',
  }),
  'gateway:identity:no-sharing': deferred('identity', {
    spec: 'gateway',
    behaviour: 'Sessions, processes and private answers are never shared between principals.',
  }),
  'gateway:policy:no-permit-no-byte': deferred('policy', {
    spec: 'gateway',
    behaviour: 'Without a permit not one byte goes to a backend.',
  }),
  'gateway:policy:denied-request': deferred('policy', {
    spec: 'gateway',
    behaviour: 'A denied request is error 403 with `policy_denied` and the rules that decided.',
  }),
  'gateway:policy:denied-http': deferred('policy', {
    spec: 'gateway',
    behaviour: 'Where an endpoint says so, a denial is HTTP 403 with the same body.',
  }),
  'gateway:policy:hide': deferred('policy', {
    spec: 'gateway',
    behaviour:
      'Where an endpoint says so, what is denied looks as if it did not exist, headers and timing of schemas included.',
  }),
  'gateway:policy:denied-notification': deferred('policy', {
    spec: 'gateway',
    behaviour: 'A denied notification is HTTP 403.',
  }),
  'gateway:policy:rate-limited': deferred('policy', {
    spec: 'gateway',
    behaviour: 'Over the rate is 429 with `Retry-After`.',
  }),
  'gateway:policy:ask-decided': deferred('policy', {
    spec: 'gateway',
    behaviour: 'An ask passes policy like a call, and names the backend that asks.',
  }),
  'gateway:policy:decided-anew': deferred('policy', {
    spec: 'gateway',
    behaviour: 'Every round of a call is decided by the rules of its moment.',
  }),
  'gateway:policy:response-no-method': deferred('policy', {
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: "No method rule is applied to a client's response, which has no method.",
  }),
  'gateway:policy:audit': deferred('policy', {
    spec: 'gateway',
    behaviour: 'Every decision is recorded with the rules and the generation that made it.',
  }),
} satisfies Record<string, Requirement>;
