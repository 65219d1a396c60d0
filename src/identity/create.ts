/** Builds everything in this folder, from the config and its ports. */

import type { Warn } from '../observe/ports.ts';
import { buildGuard, type EndpointAuth } from './auth-metadata.ts';
import type { IssuerPorts } from './documents.ts';
import { Identity } from './identify.ts';
import { Keys } from './keys.ts';
import { localPrincipal, type Principal } from './principal.ts';
import { Hierarchy } from './scopes.ts';
import type { GuardSettings, IdentitySettings, IssuerSettings } from './settings.ts';
import { TokenVerifiers } from './tokens.ts';
import type { FilePort } from './watched-file.ts';

export interface IdentityOutside extends IssuerPorts {
  readonly keyFileAt: (path: string) => FilePort;
  readonly warn: Warn;
}

export interface IdentityServices {
  readonly identity: Identity;
  /** The principal that started us over stdio. */
  readonly local: Principal;
  /**
   * Adds an issuer before guards are built: the bundled authorization server's address is known only once we listen.
   */
  trust(issuer: IssuerSettings): void;
  /** `bases` come from `basesOf`; `paths` are all paths of the endpoint, its own first. */
  guardFor(settings: GuardSettings, bases: readonly string[], paths: readonly string[]): EndpointAuth;
  close(): void;
}

export function createIdentity(settings: IdentitySettings, outside: IdentityOutside): IdentityServices {
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
