/** What the pages need from the rest of the house; handed in. */
import type { Seal } from '../../store/ports.ts';

/** A consent that nobody has given yet. */
export interface PendingConsent {
  readonly backend: string;
  /** The backend's address. */
  readonly url: string;
  /** The authorization server's. */
  readonly issuer: string;
  /** Where the person is asked; the issuer's metadata names it, and it may be elsewhere. */
  readonly authorizationEndpoint?: string | undefined;
  /** Empty where the authorization server chooses. */
  readonly scopes: readonly string[];
  /** Whom it is for; nobody else may go through with it. */
  readonly principal: Person;
  /** For everybody who uses the backend, not for the principal alone. */
  readonly shared: boolean;
}

/** As much of a principal as is needed to recognise it. */
export interface Person {
  readonly key: string;
  readonly kind: 'local' | 'key' | 'token';
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
  readonly keyName?: string | undefined;
}

export interface PendingConsents {
  /** Undefined where it is unknown, was used, or has ended; which of these must not be seen in the time that it takes. */
  find(id: string): Promise<PendingConsent | undefined>;
  /** Where the person is sent to. Its `state` begins with the id and a dot. */
  authorizationUrl(id: string): Promise<string>;
  /**
   * What the authorization server sent back, errors included: `state` and `iss` are compared there once more. Rejects with
   * a Failure; `consent_unknown`, `consent_invalid` and `consent_refused` have pages of their own.
   */
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
