/** Access: identity and policy. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayAccess = {
  'gateway:identity:no-credentials': held({
    spec: '2025-11-25/basic/authorization#protected-resource-metadata-discovery-requirements',
    behaviour:
      'Without credentials the answer is 401 with a challenge that holds no `error=`, and a JSON-RPC body with the id.',
  }),
  'gateway:identity:bad-token': held({
    spec: '2025-11-25/basic/authorization#token-handling',
    behaviour: 'A bad token is 401 `invalid_token` with a specific description, never a 500.',
  }),
  'gateway:identity:insufficient-scope': held({
    spec: '2025-11-25/basic/authorization#runtime-insufficient-scope-errors',
    behaviour: 'A missing scope is 403, naming all scopes that the operation needs.',
  }),
  'gateway:identity:envelope-style': held({
    spec: 'gateway',
    behaviour: 'Where an endpoint says so, a missing key is 200 with a -32001 error body and the id of the request.',
  }),
  'gateway:identity:query-key': held({
    spec: 'gateway',
    behaviour: 'A key in the query string counts only where the endpoint opts in, and is neither logged nor passed on.',
  }),
  'gateway:identity:audience-compare': held({
    spec: '2025-11-25/basic/authorization#canonical-server-uri',
    behaviour: 'Audiences are compared in canonical form; sibling and child paths differ.',
  }),
  'gateway:identity:token-not-forwarded': held({
    spec: '2025-11-25/basic/authorization#access-token-privilege-restriction',
    behaviour: "The client's token never reaches a backend.",
  }),
  'gateway:identity:token-expires': held({
    spec: 'gateway',
    behaviour: 'A stream ends soon after the token that opened it expired or was revoked.',
  }),
  'gateway:identity:session-bound': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'A session of another principal is 404, as if it did not exist.',
  }),
  'gateway:identity:state-bound': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour: 'A `requestState` of another principal is -32602.',
  }),
  'gateway:identity:no-sharing': held({
    spec: 'gateway',
    behaviour: 'Sessions, processes that serve calls, and private answers are never shared between principals.',
  }),
  'gateway:identity:headers-first': held({
    spec: 'gateway',
    behaviour:
      'Identity is decided on headers: of a refused POST at most 64 KiB are read, only for the id to echo; the rest is thrown away.',
  }),
  'gateway:identity:no-names': held({
    spec: 'gateway',
    behaviour: 'Without credentials, a server that does not exist is answered as one that does.',
  }),
  'gateway:identity:every-way': held({
    spec: 'gateway',
    behaviour:
      'Authentication applies to every endpoint and every message; an endpoint is open only if its config says so by name.',
  }),
  'gateway:identity:ambiguous': held({
    spec: 'gateway',
    behaviour: 'Credentials in more than one place are answered 400: the gateway does not guess which one is meant.',
  }),
  'gateway:identity:fuzzed': held({
    spec: 'gateway',
    behaviour:
      'Invalid credentials of any form are answered 400, 401 or 403; they never cause an internal error, and never authenticate.',
  }),
  'gateway:identity:secrets': held({
    spec: 'gateway',
    behaviour: 'No log, answer, metric or process title contains a secret.',
  }),
  'gateway:identity:real-issuer': held({
    spec: 'gateway',
    behaviour:
      'Official clients authenticate with keys, and with tokens of an issuer that they discover through the metadata.',
  }),
  'gateway:identity:refreshed': held({
    spec: 'gateway',
    behaviour: 'A refreshed token of the same principal continues the session.',
  }),
  'gateway:identity:recipes': held({
    spec: 'gateway',
    behaviour: 'The recipes in the documentation do what they say.',
  }),
  'gateway:identity:backend-secrets': held({
    spec: 'gateway',
    behaviour: 'Credentials that a backend requires come from the config, the environment or a file.',
  }),
  'gateway:policy:case-twins': held({
    spec: 'gateway',
    behaviour:
      'An argument whose name differs only in case from one that a rule or a mirrored header looks at is ambiguous: rules that deny apply to it, rules that allow do not.',
  }),
  'gateway:policy:no-permit-no-byte': held({
    spec: 'gateway',
    behaviour: 'Without a permit not one byte goes to a backend.',
  }),
  'gateway:policy:denied-request': held({
    spec: 'gateway',
    behaviour: 'A denied request is error 403 with `policy_denied` and the rules that decided.',
  }),
  'gateway:policy:denied-http': held({
    spec: 'gateway',
    behaviour: 'Where an endpoint says so, a denial is HTTP 403 with the same body.',
  }),
  'gateway:policy:hide': held({
    spec: 'gateway',
    behaviour:
      'Where an endpoint says so, a denied item looks as if it did not exist, headers and timing of schemas included.',
  }),
  'gateway:policy:denied-notification': held({
    spec: 'gateway',
    behaviour: 'A denied notification is HTTP 403.',
  }),
  'gateway:policy:rate-limited': held({
    spec: 'gateway',
    behaviour: 'A request over the rate is answered 429 with `Retry-After`.',
  }),
  'gateway:policy:ask-decided': held({
    spec: 'gateway',
    behaviour: 'A server request is authorized like a call, and names the backend that sent it.',
  }),
  'gateway:policy:decided-anew': held({
    spec: 'gateway',
    behaviour: 'Every round of a call is decided by the rules in force at that time.',
  }),
  'gateway:policy:response-no-method': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: "No method rule is applied to a client's response, which has no method.",
  }),
  'gateway:policy:unasked-response': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour:
      "A client's response that matches no server request is answered 202, reaches no backend, and is in the audit trail.",
  }),
  'gateway:policy:kept-small': held({
    spec: 'gateway',
    behaviour:
      '`clientInfo` is bounded in size, and values kept from a message (client info, keys of rates) do not keep the rest of its body in memory.',
  }),
  'gateway:policy:filtered': held({
    spec: 'gateway',
    behaviour:
      'A principal does not see items that it may not use: in lists, completions and subscriptions, cached ones included.',
  }),
  'gateway:policy:names': held({
    spec: 'gateway',
    behaviour: 'A rule applies to an item under every name and spelling by which a client could request it.',
  }),
  'gateway:policy:readings': held({
    spec: 'gateway',
    behaviour:
      'An address that parsers read in different ways is ambiguous: rules that deny apply to it, rules that allow do not.',
  }),
  'gateway:policy:types': held({
    spec: 'gateway',
    behaviour:
      'An argument of another type than the rule tests for, or compares in a condition, is ambiguous: rules that deny apply, rules that allow do not.',
  }),
  'gateway:policy:crowds': held({
    spec: 'gateway',
    behaviour:
      'Arguments with more than 16,384 members and items are not parsed for rules that look at them: they are ambiguous. The length of texts does not matter.',
  }),
  'gateway:policy:strict-profile': held({
    spec: 'gateway',
    behaviour: 'A message outside the profile is refused before any rule is evaluated, in audit mode too.',
  }),
  'gateway:policy:annotations': held({
    spec: 'gateway',
    behaviour: 'Tool annotations are used only if the config trusts the annotations of that backend.',
  }),
  'gateway:policy:commands': held({
    spec: 'gateway',
    behaviour: 'A policy can be explained and tested before it is in force.',
  }),
  'gateway:pins:held': held({
    spec: 'gateway',
    behaviour:
      'With `pins` in `hold` mode, what a backend offers in another form than it was pinned, or what was never pinned, is in no list, and calls of it are refused with `pinned_changed`. In `warn` mode it passes, and is reported.',
  }),
  'gateway:pins:classes': held({
    spec: 'gateway',
    behaviour:
      'A change has classes: text, wider and narrower schema, riskier and safer hint, user interface, other metadata, cosmetic.',
  }),
  'gateway:pins:never-by-itself': held({
    spec: 'gateway',
    behaviour:
      'Nothing is pinned but by `bascule pins approve`. A pin file that is missing, unreadable or corrupt holds everything.',
  }),
  'gateway:pins:commands': held({
    spec: 'gateway',
    behaviour:
      '`bascule pins diff`, `verify` and `approve` compare and pin what backends offer, with exit codes for CI.',
  }),
  'gateway:policy:groups': held({
    spec: 'gateway',
    behaviour:
      'Access keys and users of the bundled authorization server have groups, which rules match as they match groups of tokens.',
  }),
  'gateway:policy:rehearse': held({
    spec: 'gateway',
    behaviour:
      'Recorded requests can be decided by another config: `bascule policy rehearse` reports whose requests would be denied or allowed, and by which rules. The recording has no secrets.',
  }),
  'gateway:policy:audit': held({
    spec: 'gateway',
    behaviour: 'Every decision is recorded with the rules and the generation that made it.',
  }),
  'gateway:policy:decision-points': held({
    spec: 'gateway',
    behaviour:
      'A decision point outside the gateway is asked once the rules have allowed a request, and never about a client’s responses. Its denial reaches no backend, and is recorded with its id and its time.',
  }),
  'gateway:policy:decision-faults': held({
    spec: 'gateway',
    behaviour:
      'A decision point that does not answer, or not with a valid answer to this question, denies, unless its config says `allow`; the record names the fault.',
  }),
  'gateway:policy:decision-lists': held({
    spec: 'gateway',
    behaviour: 'Lists have only the entries that decision points allow, by one question for many entries.',
  }),
  'gateway:policy:cedar': held({
    spec: 'gateway',
    behaviour:
      'Cedar policies written for ToolHive decide as they do there; an evaluation that fails denies; mistakes in names are found before they are in force.',
  }),
} satisfies Record<string, Requirement>;
