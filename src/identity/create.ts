/** The whole room, from the config and the outside. */

import type { WallClock, Warn } from '../observe/ports.ts';
import { buildGuard, type EndpointAuth } from './auth-metadata.ts';
import { Identity } from './identify.ts';
import { Keys } from './keys.ts';
import type { Fetch, KeyFilePort } from './ports.ts';
import { localPrincipal, type Principal } from './principal.ts';
import { Hierarchy } from './scopes.ts';
import type { GuardSettings, IdentitySettings, IssuerSettings } from './settings.ts';
import { TokenVerifiers } from './tokens.ts';

export interface IdentityOutside {
  readonly time: WallClock;
  readonly fetch: Fetch;
  readonly keyFileAt: (path: string) => KeyFilePort;
  readonly warn: Warn;
}

export interface IdentityRoom {
  readonly identity: Identity;
  /** Whoever started us over stdio. */
  readonly local: Principal;
  /** One more issuer, before any guard is made: ours has the address that we turned out to have. */
  trust(issuer: IssuerSettings): void;
  /** `bases` as `basesOf` gives them; `paths` are all that the endpoint is served at, its own first. */
  guardFor(settings: GuardSettings, bases: readonly string[], paths: readonly string[]): EndpointAuth;
  close(): void;
}

export function createIdentity(settings: IdentitySettings, outside: IdentityOutside): IdentityRoom {
  const { keyFile, implies, localScopes } = settings;
  const issuers = [...settings.issuers];
  const { time, warn, keyFileAt } = outside;
  const keys = keyFile === undefined ? undefined : new Keys({ file: keyFileAt(keyFile), time, warn });
  keys?.watch();
  const tokens = new TokenVerifiers(issuers, outside, warn);
  const hierarchy = new Hierarchy(implies);
  return {
    identity: new Identity({ keys, tokens }),
    local: localPrincipal(localScopes === undefined ? 'all' : new Set(localScopes)),
    trust: (own) => {
      if (!issuers.some(({ issuer }) => issuer === own.issuer)) issuers.push(own);
      tokens.trust(own);
    },
    guardFor: (guard, bases, paths) => buildGuard(guard, { issuers, hierarchy, bases, paths }),
    close: () => keys?.close(),
  };
}
