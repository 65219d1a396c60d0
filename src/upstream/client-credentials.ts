/** Presents to a backend what the client itself has presented, and hands the backend's refusal to the client. */
import { Failure } from '../errors/failure.ts';
import { credentialOf } from '../identity/client-credential.ts';
import type { Principal } from '../identity/principal.ts';
import type { CredentialHeaders, CredentialProvider } from '../oauth/client/credential-provider.ts';

const nothing: CredentialHeaders = {};

export function clientCredentials(current: () => Principal): CredentialProvider {
  let last = { Authorization: '' };
  return {
    headers: () => {
      const header = credentialOf(current()) ?? '';
      if (header === '') return nothing;
      if (last.Authorization !== header) last = { Authorization: header };
      return last;
    },
    refused: async ({ status, wwwAuthenticate }) => {
      const isClients = credentialOf(current()) !== undefined;
      if (!isClients)
        throw new Failure('backend_unauthorized', {
          message: 'This backend takes the credentials of its clients, which come through the proxy',
        });
      // RFC 9110, 11.6.1: several challenges may stand in one header.
      const headers = wwwAuthenticate.length === 0 ? {} : { 'WWW-Authenticate': wwwAuthenticate.join(', ') };
      throw new Failure('client_credential_refused', { http: { status, headers } });
    },
  };
}
