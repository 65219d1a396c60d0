/** Grants that need no person's consent. */
import * as oauth from 'oauth4webapi';
import { Failure } from '../../errors/failure.ts';
import type { OAuthClient } from './client.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { type ServerMetadata, serverMetadata } from './server-metadata.ts';
import type { BackendAuth, GrantType, IdentityProvider, SubjectTokenType } from './settings.ts';
import { asClient, askForToken, asServer, type Granted, GrantRefused, type TokenClient } from './token-endpoint.ts';

export interface MachineGrantRequest extends TokenClient {
  readonly resource: string;
  readonly scopes: readonly string[];
  /** The token that the caller presented to us. */
  readonly subjectToken: string | undefined;
}

export type MachineGrant = Exclude<GrantType, 'authorization_code'>;

export const machineGrants: Readonly<Record<MachineGrant, (machine: MachineGrantRequest) => Promise<Granted>>> = {
  client_credentials: (machine) =>
    askForToken(machine, [], (proof, options) => {
      const [server, client] = [asServer(machine.server), asClient(machine.client)];
      return oauth.clientCredentialsGrantRequest(server, client, proof, commonOf(machine), options);
    }),

  /** RFC 8693: exchanges the caller's token for one whose audience is the backend. */
  token_exchange: (machine) => {
    const subject = subjectOf(machine);
    const { audience } = machine.auth;
    return extended(machine, tokenExchange, [subject], {
      ...commonOf(machine),
      ...subjectParameters(subject, 'access_token'),
      requested_token_type: tokenType('access_token'),
      ...(audience === undefined ? {} : { audience }),
    });
  },

  /**
   * Enterprise-managed authorization: the identity provider issues an assertion about the caller, and the backend's
   * authorization server exchanges it for a token (RFC 7523).
   */
  identity_assertion: async (machine) => {
    const assertion = await assertionFor(machine, subjectOf(machine));
    const parameters = { assertion, ...commonOf(machine) };
    return extended(machine, 'urn:ietf:params:oauth:grant-type:jwt-bearer', [assertion], parameters);
  },
};

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

/**
 * The assertion is for this issuer and this resource alone. The provider's metadata is verified before it receives a
 * token.
 */
async function assertionFor(machine: MachineGrantRequest, subject: string): Promise<string> {
  const provider = machine.auth.identityProvider;
  if (provider === undefined) throw new Failure('exchange_impossible');
  const asking = await providerAsking(machine.guardedFetch, provider);
  try {
    const { accessToken } = await extended(asking, tokenExchange, [subject], {
      ...subjectParameters(subject, provider.subjectTokenType),
      requested_token_type: tokenType('id-jag'),
      audience: machine.server.issuer,
      ...commonOf(machine),
    });
    return accessToken;
  } catch (error) {
    if (!(error instanceof GrantRefused)) throw error;
    const message = 'The identity provider issued no assertion for the caller';
    throw new Failure('authorization_refused', { message, data: error.data });
  }
}

async function providerAsking(
  guardedFetch: GuardedFetch,
  { issuer, clientId, clientSecret }: IdentityProvider,
): Promise<TokenClient> {
  const server: ServerMetadata = await serverMetadata(guardedFetch, issuer);
  const client: OAuthClient = { kind: 'configured', id: clientId };
  const auth: BackendAuth = {
    grant: 'token_exchange',
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    shared: false,
  };
  return { guardedFetch, server, client, auth, forAssertion: true };
}

/** A server that lists its grants without this one does not receive any token. */
async function extended(
  asking: TokenClient,
  grant: string,
  secrets: readonly string[],
  parameters: Record<string, string>,
): Promise<Granted> {
  const { server, client } = asking;
  if (server.grant_types_supported?.includes(grant) === false) {
    const message = 'The authorization server does not support this grant';
    throw new Failure('authorization_refused', { message, data: { error: 'unsupported_grant_type' } });
  }
  return askForToken(asking, secrets, (proof, options) =>
    oauth.genericTokenEndpointRequest(asServer(server), asClient(client), proof, grant, parameters, options),
  );
}

function subjectOf({ subjectToken }: MachineGrantRequest): string {
  if (subjectToken === undefined) throw new Failure('exchange_impossible');
  return subjectToken;
}

function commonOf({ resource, scopes }: MachineGrantRequest): Record<string, string> {
  return { resource, ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }) };
}

function subjectParameters(subject: string, type: SubjectTokenType): Record<string, string> {
  return { subject_token: subject, subject_token_type: tokenType(type) };
}

function tokenType(name: SubjectTokenType | 'id-jag'): string {
  return `urn:ietf:params:oauth:token-type:${name}`;
}
