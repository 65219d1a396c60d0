/** Checks that people can give the consent that a backend needs: in a browser, and after proving who they are. */
import type { BackendAuth } from '../oauth/client/settings.ts';
import { isLoopbackHost } from '../oauth/fetch/addresses.ts';
import type { BackendConfig, ListenConfig } from './config.ts';
import type { Complaint, ConfigDocument } from './document.ts';
import type { IdentityReading } from './identity.ts';
import { parseUrl } from './shapes.ts';

export function checkConsents(
  document: ConfigDocument,
  backends: readonly BackendConfig[],
  identity: IdentityReading,
  listen: ListenConfig,
): void {
  const elsewhere = addressElsewhere(identity, listen);
  const isHidden = listen.socket !== undefined && identity.settings.publicUrl === undefined;
  for (const backend of backends) {
    if (backend.kind !== 'http' || backend.auth?.grant !== 'authorization_code') continue;
    if (isHidden) document.report(['listen', 'socket'], unopened);
    const complaint = backend.auth.shared ? unshareable(backend.auth, elsewhere) : unshown(identity, elsewhere);
    const path = ['backends', backend.name, 'auth'];
    if (complaint !== undefined) document.report(backend.auth.shared ? [...path, 'shared'] : path, complaint);
  }
}

const unopened: Complaint = {
  message: 'no browser can open the consent page: the gateway listens on a Unix socket, and has no other address',
  expected: '`identity.publicUrl`, with the address of the proxy in front of it',
};

/** The address that browsers use for us, unless it is loopback. */
function addressElsewhere({ settings: { publicUrl } }: IdentityReading, { host }: ListenConfig): string | undefined {
  if (publicUrl === undefined) return isLoopbackHost(host) ? undefined : host;
  const hostname = parseUrl(publicUrl)?.hostname ?? '';
  return isLoopbackHost(hostname) ? undefined : publicUrl;
}

/** The person at this machine consents for a shared account, and only a page on loopback can prove that. */
function unshareable({ implied }: BackendAuth, elsewhere: string | undefined): Complaint | undefined {
  if (elsewhere === undefined || implied === true) return undefined;
  return {
    message: `consent for a shared account must be given in a browser on this machine, but the gateway’s pages are at ${elsewhere}`,
    expected:
      '`grant: client_credentials`, for one account for all; or `shared: false`, and each person gives their own consent',
  };
}

/** Each person must consent for their own account. */
function unshown({ settings, authServer }: IdentityReading, elsewhere: string | undefined): Complaint | undefined {
  // The bundled authorization server has its own sign-in page.
  const own = authServer === undefined ? undefined : settings.publicUrl;
  const silent = settings.issuers.find(({ issuer, signIn }) => signIn === undefined && issuer !== own);
  if (silent === undefined) return undefined;
  const instead = elsewhere === undefined ? '`shared: true`' : '`grant: client_credentials`';
  return {
    message: `people with tokens of ${silent.issuer} cannot sign in on the consent page`,
    expected: `\`signIn\` with a \`clientId\` at that issuer; or ${instead} here`,
  };
}
