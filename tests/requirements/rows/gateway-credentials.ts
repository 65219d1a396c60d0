/** How the gateway authenticates at backends on behalf of its callers. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayCredentials = {
  'gateway:credentials:asked': held({
    spec: '2026-07-28/client/elicitation#url-mode-for-oauth-flows',
    behaviour:
      'A call that needs a person’s consent has its client asked to open a page, in the way of its era, and goes on once consent was given.',
  }),
  'gateway:credentials:told': held({
    spec: '2025-11-25/client/elicitation#url-elicitation-required-error',
    behaviour: 'A client that cannot be asked is told by an error where the page is, and the next call is served.',
  }),
  'gateway:credentials:refused': held({
    spec: 'gateway',
    behaviour: 'A call whose person says no, or nothing, ends with a named error, and nothing reaches the backend.',
  }),
  'gateway:credentials:one-principal': held({
    spec: '2026-07-28/basic/authorization/security-considerations#access-token-privilege-restriction',
    behaviour:
      'What one principal has agreed to serves nobody else: tokens, lists and troubles of several people never mix.',
  }),
  'gateway:credentials:others-unaffected': held({
    spec: 'gateway',
    behaviour: 'A backend that somebody has no leave at costs them its own entries and calls, and no other’s.',
  }),
  'gateway:credentials:list-changes': held({
    spec: 'gateway',
    behaviour: 'Once consent was given, clients are told that lists have changed.',
  }),
  'gateway:credentials:restart': held({
    spec: 'gateway',
    behaviour: 'After a restart nobody is asked again, and a page that was told of before is still good.',
  }),
  'gateway:credentials:token-exchange': held({
    spec: 'gateway',
    behaviour: 'The token that a caller came with can be exchanged for one of the backend’s (RFC 8693).',
  }),
  'gateway:credentials:secrets': held({
    spec: '2025-11-25/basic/authorization#token-theft',
    behaviour: 'Tokens, codes and secrets stand in no answer, no log and no page.',
  }),
  'gateway:credentials:inside': held({
    spec: '2026-07-28/basic/authorization/security-considerations',
    behaviour:
      'A backend cannot make the gateway ask an address on this machine or inside the network, other than its own origin and those that the config names.',
  }),
  'gateway:credentials:recipes': held({
    spec: 'gateway',
    behaviour: 'The recipes of docs/oauth-to-backends.md do what they say.',
  }),
  'gateway:credentials:kit': held({
    spec: 'gateway',
    behaviour: 'Every scenario of the official kit for clients passes with the gateway as the client.',
  }),
  'gateway:credentials:refresh-once': held({
    spec: 'gateway',
    behaviour: 'A thousand calls with an expired token, at two replicas, come to one request with the refresh token.',
  }),
  'gateway:credentials:hostile': held({
    spec: 'gateway',
    behaviour:
      'Whatever a backend, its authorization server or a browser says: a named failure, never in, and no request to an address that the guard forbids.',
  }),
  'gateway:credentials:left-alone': held({
    spec: 'gateway',
    behaviour: 'Failed authorisation disables a backend for that principal, for a while; it is no failure of others.',
  }),
} satisfies Record<string, Requirement>;
