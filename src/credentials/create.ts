/** Everything of this room, put together. */
import type { Principal } from '../identity/principal.ts';
import type { Consents } from './consents.ts';
import type { CredentialPorts } from './ports.ts';
import type { Presenter } from './presenter.ts';
import type { CredentialSettings } from './settings.ts';

export interface Credentials {
  /** Undefined where the backend has no `auth`. `subjectToken`: what the principal presented to us, for token exchange. */
  presenterFor(backend: string, principal: Principal, subjectToken?: string): Presenter | undefined;
  readonly consents: Consents;
  /** As if the principal had never been connected. */
  forget(backend: string, principal: Principal): Promise<void>;
  close(): void;
}

export type CreateCredentials = (settings: CredentialSettings, ports: CredentialPorts) => Credentials;
