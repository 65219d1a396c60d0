/**
 * Refreshes tokens once for all waiting calls. A rotating refresh token is good for one request, and its second use
 * ends the whole grant (RFC 9700, 4.14.2).
 */
import * as oauth from 'oauth4webapi';
import type { Stored } from '../typed-records.ts';
import type { AccountPorts } from './account.ts';
import type { OAuthBackend } from './acquire.ts';
import { isCurrent } from './client.ts';
import { asClient, askForToken, asServer, GrantRefused, type TokenClient } from './token-endpoint.ts';
import { endOf, refreshedTokens, type StoredTokens, withoutTokens } from './tokens.ts';

/**
 * `old`: the tokens that were found to be expired. Resolves with the stored tokens afterwards: new ones, or none
 * if the grant has ended. Rejects with a Failure.
 */
export async function refresh(
  key: string,
  backend: OAuthBackend,
  old: Stored<StoredTokens>,
  ports: AccountPorts,
): Promise<Stored<StoredTokens> | undefined> {
  const changed = async () => {
    const now = await ports.shelf.get(key);
    return now?.text === old.text ? undefined : { found: now };
  };
  const { found } = await ports.turns.once(`refresh/${key}`, changed, async () => {
    const next = await renewed(backend, old.value, ports);
    // A consent may have finished meanwhile. Its tokens are newer and stay.
    await ports.shelf.replace(key, old, next, endOf(next));
    return { found: await ports.shelf.get(key) };
  });
  return found;
}

async function renewed(backend: OAuthBackend, value: StoredTokens, ports: AccountPorts): Promise<StoredTokens> {
  const { refresh: token, server, client, resource } = value;
  const { guardedFetch, settings } = backend;
  const { auth } = settings;
  if (token === undefined || !isCurrent(client, auth)) return withoutTokens(value);
  const asking: TokenClient = { guardedFetch, server, client, auth };
  try {
    const granted = await askForToken(asking, [token], (proof, options) =>
      oauth.refreshTokenGrantRequest(asServer(server), asClient(client), proof, token, {
        ...options,
        additionalParameters: { resource },
      }),
    );
    return refreshedTokens(value, granted, ports.time.now());
  } catch (error) {
    if (!(error instanceof GrantRefused)) throw error;
    if (error.code === 'invalid_client' && client.kind === 'registered') {
      await ports.registrations.forget(server.issuer, client);
      return withoutTokens(value);
    }
    if (error.code === 'invalid_grant') return withoutTokens(value);
    throw error.failure();
  }
}
