/**
 * How a person proves to be the principal that asked. Each kind of principal has one way; the visitor cannot choose.
 */

import type { PageRequest } from '../../../web/request.ts';
import { isLoopback, isLoopbackHost } from '../../fetch/addresses.ts';
import type { ConsentPrincipal } from '../consent-store.ts';
import type { ConnectPorts } from './ports.ts';

export type SignInWay =
  /** No proof needed: the principal is whoever uses this machine. */
  | { readonly kind: 'here' }
  | { readonly kind: 'key'; readonly keyOf: (secret: string) => string | undefined }
  | { readonly kind: 'own'; readonly signIn: NonNullable<ConnectPorts['ownSignIn']> }
  | { readonly kind: 'foreign'; readonly signIn: NonNullable<ConnectPorts['foreignSignIn']>; readonly issuer: string }
  | { readonly kind: 'none'; readonly why: Hindrance };

/** Why no proof is possible. */
export type Hindrance = 'elsewhere' | 'program' | 'unconfigured';

export function wayFor(person: ConsentPrincipal, request: PageRequest, ports: ConnectPorts): SignInWay {
  switch (person.kind) {
    case 'local':
      return isHere(request, ports.publicUrl) ? { kind: 'here' } : none('elsewhere');
    case 'key':
      return ports.keyOf === undefined ? none('unconfigured') : { kind: 'key', keyOf: ports.keyOf };
    case 'token':
      return signInWay(person, ports);
  }
}

function signInWay({ issuer, subject }: ConsentPrincipal, { ownSignIn, foreignSignIn }: ConnectPorts): SignInWay {
  // A client that acts for itself: no person can sign in as it.
  if (issuer === undefined || subject === undefined) return none('program');
  if (ownSignIn?.issuer === issuer) return { kind: 'own', signIn: ownSignIn };
  if (foreignSignIn?.canSignIn(issuer)) return { kind: 'foreign', signIn: foreignSignIn, issuer };
  return none('unconfigured');
}

function none(why: Hindrance): SignInWay {
  return { kind: 'none', why };
}

/**
 * Checks all of these, because each alone can be forged from elsewhere: the address through a proxy on this machine,
 * the name by whoever writes the header.
 */
export function isHere({ remoteAddress, headers }: PageRequest, publicUrl: string): boolean {
  return (
    isLoopback(remoteAddress ?? '') &&
    isLoopbackHost(hostAndPort.exec(headers.host ?? '')?.[1]?.toLowerCase() ?? '') &&
    isLoopbackHost(new URL(publicUrl).hostname) &&
    !proxyHeaders.some((name) => headers[name] !== undefined)
  );
}

const hostAndPort = /^(\[[^\]]+\]|[^:]+)(?::\d{1,5})?$/;
const proxyHeaders = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];
