/**
 * Refreshes tokens once for all waiting calls. A rotating refresh token is good for one request, and its second use
 * ends the whole grant (RFC 9700, 4.14.2).
 */
import * as oauth from 'oauth4webapi';
import type { WallClock } from '../../observe/ports.ts';
import { isCurrent } from './client.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import type { Registrations } from './registration.ts';
import type { BackendAuth } from './settings.ts';
import type { SingleFlight } from './single-flight.ts';
import { asClient, askForToken, asServer, GrantRefused, type TokenClient } from './token-endpoint.ts';
import { endOf, refreshedTokens, type StoredTokens, type TokenShelf, withoutTokens } from './tokens.ts';
import type { Stored } from './typed-records.ts';

export interface RefreshPorts {
  readonly shelf: TokenShelf;
  readonly turns: SingleFlight;
  readonly time: WallClock;
  readonly registrations: Registrations;
}

export interface Refreshing {
  readonly key: string;
  readonly guardedFetch: GuardedFetch;
  readonly auth: BackendAuth;
  /** The tokens that were found to be expired. */
  readonly old: Stored<StoredTokens>;
}

/** Resolves with the stored tokens afterwards: new ones, or none if the grant has ended. Rejects with a Failure. */
export async function refresh(refreshing: Refreshing, ports: RefreshPorts): Promise<Stored<StoredTokens> | undefined> {
  const { key, old } = refreshing;
  const changed = async () => {
    const now = await ports.shelf.get(key);
    return now?.text === old.text ? undefined : { found: now };
  };
  const { found } = await ports.turns.once(`refresh/${key}`, changed, async () => {
    const next = await renewed(refreshing, ports);
    // A consent may have finished meanwhile. Its tokens are newer and stay.
    await ports.shelf.replace(key, old, next, endOf(next));
    return { found: await ports.shelf.get(key) };
  });
  return found;
}

async function renewed({ guardedFetch, auth, old: { value } }: Refreshing, ports: RefreshPorts): Promise<StoredTokens> {
  const { refresh: token, server, client, resource } = value;
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
