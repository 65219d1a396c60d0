/** What backends are presented, and how we come by it. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayCredentials = {
  'gateway:credentials:refresh-once': held({
    spec: 'gateway',
    behaviour: 'A thousand calls with an expired token, at two replicas, come to one request with the refresh token.',
  }),
  'gateway:credentials:restart': held({
    spec: 'gateway',
    behaviour: 'A restart in the middle of a consent, or between login and refresh, loses nothing.',
  }),
  'gateway:credentials:hostile': held({
    spec: 'gateway',
    behaviour:
      'Whatever a backend, its authorization server or a browser says: a named failure, never in, and no request to an address that the guard forbids.',
  }),
  'gateway:credentials:secrets': held({
    spec: 'gateway',
    behaviour: 'Tokens, codes and secrets are in no log and in no error, and in no record that could be read.',
  }),
  'gateway:credentials:left-alone': held({
    spec: 'gateway',
    behaviour: 'Failed authorisation disables a backend for that principal, for a while; it is no failure of others.',
  }),
  'gateway:credentials:token-exchange': held({
    spec: 'gateway',
    behaviour: "The caller's token is exchanged at a configured issuer alone, and the backend never sees it.",
  }),
} satisfies Record<string, Requirement>;
