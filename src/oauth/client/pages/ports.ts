/** What the pages need from the rest of the house; handed in. */

import type { Seal } from '../../../store/ports.ts';
import type { Consent, Consents } from '../consents.ts';

/** A consent that nobody has given yet, as far as a page tells of it. */
export type PendingConsent = Omit<Consent, 'id' | 'endsAt'>;

export interface PendingConsents extends Pick<Consents, 'authorizationUrl'> {
  /** As `Consents` has it; whether it is unknown, was used or has ended must not be seen in the time that it takes. */
  find(id: string): Promise<PendingConsent | undefined>;
  complete(id: string, parameters: URLSearchParams): Promise<unknown>;
}

/** The authorization server that we bring ourselves: its session is in the same browser. */
export interface OwnSignIn {
  readonly issuer: string;
  /** The key of the principal who is signed in. */
  signedIn(cookies: string | undefined): Promise<string | undefined>;
  /** Where a person signs in and comes back to this path afterwards. */
  signInUrl(returnTo: string): string;
}

/** Its text is for the log, and holds nothing that the issuer or the browser said. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
  /** The issuer itself said no in the browser, and it was that issuer. */
  readonly refused: boolean;

  constructor(
    message: string,
    { refused = false, cause }: { readonly refused?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.refused = refused;
  }
}

/** Signing in at somebody else's issuer, to show who is there and for nothing else. */
export interface ForeignSignIn {
  canSignIn(issuer: string): boolean;
  /** `kept` comes back with `complete`; it is a secret of this flow. Rejects with a SignInError. */
  begin(issuer: string, redirectUri: string): Promise<SignInBegun>;
  /** Rejects with a SignInError where the issuer does not vouch for anybody. */
  complete(begun: Pick<SignInBegun, 'state' | 'kept'>, answer: SignInAnswer): Promise<SignedIn>;
}

export interface SignInBegun {
  readonly url: string;
  readonly state: string;
  readonly kept: string;
}

export interface SignInAnswer {
  readonly issuer: string;
  readonly redirectUri: string;
  readonly parameters: URLSearchParams;
}

export interface SignedIn {
  readonly issuer: string;
  readonly subject: string;
}

export interface ConnectPorts {
  /** Scheme, host and port by which browsers know us. */
  readonly publicUrl: string;
  readonly consents: PendingConsents;
  /** Binds a browser to a flow. Replicas share its secret. */
  readonly seal: Seal;
  /** The key of the principal whose access key this is. Absent where there are no keys. */
  readonly keyOf?: (secret: string) => string | undefined;
  readonly ownSignIn?: OwnSignIn;
  readonly foreignSignIn?: ForeignSignIn;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** 32 unguessable bytes, as base64url. */
  readonly random: () => string;
  /** For people who run the gateway. Never a secret, never what a browser sent. */
  readonly warn: (text: string, facts: Readonly<Record<string, unknown>>) => void;
}
