/**
 * Obtains a client id at an authorization server, in the specification's order of ways.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration
 */
import * as oauth from 'oauth4webapi';
import * as z from 'zod';
import { Failure } from '../../errors/failure.ts';
import type { WallClock } from '../../observe/ports.ts';
import type { Records } from '../../store/ports.ts';
import { isLoopbackHost } from '../fetch/addresses.ts';
import { type Stored, TypedRecords } from '../typed-records.ts';
import type { OAuthBackend } from './acquire.ts';
import { authMethods, clientShape, type OAuthClient } from './client.ts';
import { clientDocument, clientNature, redirectUri } from './client-document.ts';
import { preferredMethod } from './client-proof.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { credentialLimits } from './limits.ts';
import type { ServerMetadata } from './server-metadata.ts';
import type { SingleFlight } from './single-flight.ts';
import { asServer, GrantRefused, named } from './token-endpoint.ts';

/** RFC 7591, 3.2.1: `endsAt` is when the secret expires. */
const registrationShape = z.object({ client: clientShape, endsAt: z.number().optional() });
type Registration = z.infer<typeof registrationShape>;

export class Registrations {
  readonly #registered: TypedRecords<Registration>;
  readonly #issuers: TypedRecords<string>;
  readonly #turns: SingleFlight;
  readonly #time: WallClock;
  readonly #publicUrl: string;

  constructor(records: Records, turns: SingleFlight, time: WallClock, publicUrl: string) {
    this.#registered = new TypedRecords(records, 'oauth-clients', registrationShape);
    this.#issuers = new TypedRecords(records, 'oauth-client-issuers', z.string());
    this.#turns = turns;
    this.#time = time;
    this.#publicUrl = publicUrl;
  }

  async clientFor(backend: OAuthBackend, server: ServerMetadata): Promise<OAuthClient> {
    const { auth } = backend.settings;
    if (auth.clientId !== undefined) return this.#bound({ kind: 'configured', id: auth.clientId }, backend, server);
    const document = auth.clientMetadataUrl ?? clientDocument(this.#publicUrl)?.client_id;
    if (server.client_id_metadata_document_supported === true && document !== undefined) {
      return { kind: 'document', id: document };
    }
    if (server.registration_endpoint === undefined) {
      throw unregistered(
        'The authorization server supports neither client-ID metadata documents nor dynamic registration: set `auth.clientId`',
      );
    }
    return this.#registeredAt(server, backend.guardedFetch);
  }

  /** Deletes a registration that the authorization server no longer knows. */
  async forget(issuer: string, client: OAuthClient): Promise<void> {
    const key = this.#keyOf(issuer);
    const known = await this.#registered.get(key);
    if (known?.value.client.id === client.id) await this.#registered.replace(key, known, undefined);
  }

  /**
   * Client credentials belong to the server that issued them. If the config does not name it, they are bound to the
   * first server that they are used at.
   */
  async #bound(client: OAuthClient, { name, settings }: OAuthBackend, server: ServerMetadata): Promise<OAuthClient> {
    if (settings.auth.issuer !== undefined) return client;
    const key = JSON.stringify([name, settings.url, client.id]);
    const bound = await this.#issuers.get(key);
    if (bound === undefined) await this.#issuers.replace(key, undefined, server.issuer);
    const issuer = bound ?? (await this.#issuers.get(key));
    if (issuer?.value === server.issuer) return client;
    throw unregistered('The backend names another authorization server than the one that knows `auth.clientId`');
  }

  #registeredAt(server: ServerMetadata, guardedFetch: GuardedFetch): Promise<OAuthClient> {
    const key = this.#keyOf(server.issuer);
    const known = async () => {
      const stored = await this.#registered.get(key);
      return stored !== undefined && this.#isGood(stored) ? stored.value.client : undefined;
    };
    return this.#turns.once(`register/${key}`, known, async () => {
      const registration = await register(server, guardedFetch, this.#publicUrl);
      await this.#registered.put(key, registration, this.#time.now() + credentialLimits.registrationMs);
      return registration.client;
    });
  }

  #isGood({ value: { endsAt } }: Stored<Registration>): boolean {
    return endsAt === undefined || endsAt > this.#time.now();
  }

  /** Includes our redirect URI: a registration covers no other. */
  #keyOf(issuer: string): string {
    return JSON.stringify([issuer, redirectUri(this.#publicUrl)]);
  }
}

async function register(server: ServerMetadata, guardedFetch: GuardedFetch, publicUrl: string): Promise<Registration> {
  const metadata = {
    ...clientNature,
    redirect_uris: [redirectUri(publicUrl)],
    client_uri: new URL(publicUrl).origin,
    token_endpoint_auth_method: preferredMethod(server),
    application_type: isLoopbackHost(new URL(publicUrl).hostname) ? 'native' : 'web',
  };
  const options = { [oauth.customFetch]: guardedFetch.fetch, [oauth.allowInsecureRequests]: true };
  try {
    const response = await oauth.dynamicClientRegistrationRequest(asServer(server), metadata, options);
    if (response.status >= 500) throw new Failure('authorization_unavailable');
    return registration(await oauth.processDynamicClientRegistrationResponse(await usual(response)));
  } catch (error) {
    const failure = named(error, []);
    if (failure instanceof GrantRefused)
      throw unregistered('Registration failed: the authorization server refused it', failure.data);
    if (failure.reason !== 'authorization_refused') throw failure;
    throw unregistered('Registration failed: the authorization server’s response is not a valid registration response');
  }
}

/**
 * Corrects for servers that respond with 200 instead of 201, or leave out that a secret never expires (RFC 7591,
 * 3.2.1).
 */
async function usual(response: Response): Promise<Response> {
  if (response.status !== 200 && response.status !== 201) return response;
  const body: unknown = await response.json().catch(() => undefined);
  return Response.json({ client_secret_expires_at: 0, ...(typeof body === 'object' ? body : {}) }, { status: 201 });
}

/** Accepts what the server changed, as far as we support it. */
function registration(said: oauth.OmitSymbolProperties<oauth.Client>): Registration {
  const { client_id: id, client_secret: secret, client_secret_expires_at: ends } = said;
  const method = authMethods.find((known) => known === said.token_endpoint_auth_method);
  const usable = said.token_endpoint_auth_method === undefined || method !== undefined;
  const { data } = clientShape.safeParse({
    kind: 'registered',
    id,
    ...(typeof secret === 'string' && secret !== '' && method !== 'none' ? { secret } : {}),
    ...(method === undefined ? {} : { method }),
  });
  if (data === undefined || !usable) {
    throw unregistered(
      'Registration failed: the authorization server registered other redirect URIs or another client authentication than requested',
    );
  }
  return { client: data, ...(typeof ends === 'number' && ends > 0 ? { endsAt: ends * 1000 } : {}) };
}

function unregistered(message: string, data?: GrantRefused['data']): Failure {
  return new Failure('client_unregistered', { message, ...(data && { data }) });
}
