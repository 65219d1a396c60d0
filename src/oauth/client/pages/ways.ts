/**
 * How a person shows that they are the principal who asked. One way for each kind of principal, and it is the principal's,
 * never the visitor's choice.
 */

import type { PageRequest } from '../../../web/request.ts';
import type { ConsentPrincipal } from '../consents.ts';
import type { ConnectPorts } from './ports.ts';

export type SignInWay =
  /** Nobody is asked who they are: to be at this machine is all that the principal is. */
  | { readonly kind: 'here' }
  | { readonly kind: 'key'; readonly keyOf: (secret: string) => string | undefined }
  | { readonly kind: 'own'; readonly signIn: NonNullable<ConnectPorts['ownSignIn']> }
  | { readonly kind: 'foreign'; readonly signIn: NonNullable<ConnectPorts['foreignSignIn']>; readonly issuer: string }
  | { readonly kind: 'none'; readonly why: Hindrance };

/** Why nobody can show that they are the principal. */
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
  // A client that acts for itself: there is nobody who could sign in as it.
  if (issuer === undefined || subject === undefined) return none('program');
  if (ownSignIn?.issuer === issuer) return { kind: 'own', signIn: ownSignIn };
  if (foreignSignIn?.canSignIn(issuer)) return { kind: 'foreign', signIn: foreignSignIn, issuer };
  return none('unconfigured');
}

function none(why: Hindrance): SignInWay {
  return { kind: 'none', why };
}

/**
 * All of these, because each alone can be had from elsewhere: the address through a proxy on this machine, the name through
 * whoever writes the header.
 */
function isHere({ remoteAddress, headers }: PageRequest, publicUrl: string): boolean {
  return (
    loopbackAddress.test(remoteAddress ?? '') &&
    loopbackHost.test(headers.host ?? '') &&
    loopbackHost.test(new URL(publicUrl).host) &&
    !proxyHeaders.some((name) => headers[name] !== undefined)
  );
}

const loopbackAddress = /^(?:(?:::ffff:)?127(?:\.\d{1,3}){3}|::1)$/i;
const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
const proxyHeaders = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];
