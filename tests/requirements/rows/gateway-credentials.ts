/** How the gateway authenticates at backends on behalf of its callers. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayCredentials = {
  'gateway:credentials:asked': held({
    spec: '2026-07-28/client/elicitation#url-mode-for-oauth-flows',
    behaviour:
      'If a call needs a person’s consent, the gateway asks its client to open a page, in the form of the client’s era, and the call continues once consent was given.',
  }),
  'gateway:credentials:told': held({
    spec: '2025-11-25/client/elicitation#url-elicitation-required-error',
    behaviour:
      'A client without URL elicitation gets an error with the address of the page, and the next call after consent is served.',
  }),
  'gateway:credentials:refused': held({
    spec: 'gateway',
    behaviour:
      'If the person declines or does not answer, the call ends with a named error, and nothing reaches the backend.',
  }),
  'gateway:credentials:one-principal': held({
    spec: '2026-07-28/basic/authorization/security-considerations#access-token-privilege-restriction',
    behaviour:
      'The consent of one principal applies to that principal only: tokens, lists and failures of several principals never mix.',
  }),
  'gateway:credentials:others-unaffected': held({
    spec: 'gateway',
    behaviour: 'A principal without consent at a backend lacks only the entries and calls of that backend.',
  }),
  'gateway:credentials:list-changes': held({
    spec: 'gateway',
    behaviour: 'Once consent was given, clients are notified that lists have changed.',
  }),
  'gateway:credentials:restart': held({
    spec: 'gateway',
    behaviour:
      'After a restart no principal has to consent again, and a consent link from before the restart is still valid.',
  }),
  'gateway:credentials:token-exchange': held({
    spec: 'gateway',
    behaviour: 'The token that a caller presented can be exchanged for a token of the backend (RFC 8693).',
  }),
  'gateway:credentials:secrets': held({
    spec: '2025-11-25/basic/authorization#token-theft',
    behaviour: 'No answer, log or page contains tokens, codes or secrets.',
  }),
  'gateway:credentials:inside': held({
    spec: '2026-07-28/basic/authorization/security-considerations',
    behaviour:
      'A backend cannot make the gateway send a request to an address on this machine or inside the network, other than its own origin and those that the config names.',
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
    behaviour: 'A thousand calls with an expired token, at three replicas, cause one request with the refresh token.',
  }),
  'gateway:credentials:hostile': held({
    spec: 'gateway',
    behaviour:
      'Hostile input of a backend, its authorization server or a browser leads to a named failure, never to authorization, and never to a request to an address that the guard forbids.',
  }),
  'gateway:credentials:left-alone': held({
    spec: 'gateway',
    behaviour:
      'Failed authorization disables a backend for that principal for a limited time, and does not affect other principals.',
  }),
} satisfies Record<string, Requirement>;
