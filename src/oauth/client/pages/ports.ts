/** What the pages need from the rest of the gateway. */

import type { Failure } from '../../../errors/failure.ts';
import type { Principal } from '../../../identity/principal.ts';
import type { Warn } from '../../../observe/ports.ts';
import type { AttemptCounts } from '../../../store/counts.ts';
import type { Seal } from '../../../store/ports.ts';
import type { BackendAccount } from '../accounts.ts';
import type { ConsentService } from '../consent-service.ts';
import type { Consent } from '../consent-store.ts';

/** The part of an open consent that pages show. */
export type PendingConsent = Omit<Consent, 'id' | 'endsAt'>;

export interface PendingConsents extends Pick<ConsentService, 'authorizationUrl'> {
  /** As in `ConsentService`. The time that it takes must not reveal whether the id is unknown, used or expired. */
  find(id: string): Promise<PendingConsent | undefined>;
  complete(id: string, parameters: URLSearchParams): Promise<unknown>;
}

/** Sign-in at the bundled authorization server: its session is in the same browser. */
export interface OwnSignIn {
  readonly issuer: string;
  /** The key of the signed-in principal. */
  signedIn(cookies: string | undefined): Promise<string | undefined>;
  /** The sign-in page, which redirects to `returnTo` afterwards. */
  signInUrl(returnTo: string): string;
}

/** Sign-in at an external issuer, only to identify the person. */
export interface ForeignSignIn {
  canSignIn(issuer: string): boolean;
  /** `kept` is passed to `complete`; it is a secret of this flow. Rejects with a SignInError. */
  begin(issuer: string, redirectUri: string): Promise<SignInBegun>;
  /** Rejects with a SignInError if the issuer does not identify anybody. */
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

/** Who opens the list of accounts. */
export interface AccountPeople {
  /** Where nothing is authenticated: the person at this machine. */
  readonly local?: Principal | undefined;
  /** The user of the bundled authorization server. */
  user?(cookies: string | undefined): Promise<Principal | undefined>;
  /** The holder of an access key. */
  holder?(secret: string): Principal | undefined;
  /** Never rejects. Asks the backends that the person has no account at, so that consents for them are open. */
  accounts(principal: Principal): Promise<readonly BackendAccount[]>;
}

export interface ConnectPorts {
  /** Scheme, host and port by which browsers know us. */
  readonly publicUrl: string;
  readonly consents: PendingConsents;
  readonly people: AccountPeople;
  /** Binds a browser to a flow. Replicas share its secret. */
  readonly seal: Seal;
  /** The key of the principal with this access key. Absent if no access keys are configured. */
  readonly keyOf?: (secret: string) => string | undefined;
  readonly ownSignIn?: OwnSignIn;
  readonly foreignSignIn?: ForeignSignIn;
  /** Counts wrong keys. */
  readonly attempts: AttemptCounts;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** 32 unguessable bytes, as base64url. */
  readonly random: () => string;
  /** Logs that a key was not accepted. */
  refused(failure: Failure, address: string): void;
  readonly warn: Warn;
}
