/**
 * Open consents, and the outcomes of those that ended. Each belongs to one principal, one backend and one issuer, and
 * is good for one redirect.
 */
import { randomBytes } from 'node:crypto';
import { calculatePKCECodeChallenge, generateRandomCodeVerifier } from 'oauth4webapi';
import * as z from 'zod';
import { Failure, failures, type Reason } from '../../errors/failure.ts';
import type { Principal } from '../../identity/principal.ts';
import type { WallClock } from '../../observe/ports.ts';
import type { Records } from '../../store/ports.ts';
import { TypedRecords } from '../typed-records.ts';
import type { TokenDemand } from './acquire.ts';
import { clientShape, type OAuthClient } from './client.ts';
import { credentialLimits } from './limits.ts';
import { covers, offlineAccess, withOfflineAccess } from './scopes.ts';
import { serverShape } from './server-metadata.ts';

const principalShape = z.object({
  key: z.string(),
  kind: z.enum(['local', 'key', 'token']),
  issuer: z.string().optional(),
  subject: z.string().optional(),
  keyName: z.string().optional(),
});

const flowShape = z.object({
  id: z.string(),
  /** The account that receives the tokens. */
  account: z.string(),
  backend: z.string(),
  /** The backend's URL. */
  url: z.string(),
  /** Only this principal may complete the consent. */
  principal: principalShape,
  /** True if all users of the backend share the resulting tokens. */
  shared: z.boolean(),
  server: serverShape,
  client: clientShape,
  resource: z.string(),
  asked: z.array(z.string()),
  redirectUri: z.string(),
  state: z.string(),
  verifier: z.string(),
  authorizationUrl: z.string(),
  /** Milliseconds since 1970. */
  endsAt: z.number(),
});
export type Flow = z.infer<typeof flowShape>;

/** The part of a principal that is needed to recognize it. */
export type ConsentPrincipal = Readonly<Flow['principal']>;

/** What a page may show of an open consent. */
export interface Consent extends Readonly<Pick<Flow, 'id' | 'backend' | 'url' | 'principal' | 'shared' | 'endsAt'>> {
  readonly issuer: string;
  /** The page of the authorization server. The issuer's metadata names it, possibly on a different host. */
  readonly authorizationEndpoint?: string | undefined;
  /** Empty if the authorization server chooses. */
  readonly scopes: readonly string[];
}

const outcomeShape = z.object({
  reason: z.string().optional(),
  message: z.string().optional(),
  data: z.record(z.string(), z.unknown()).optional(),
});

export interface ConsentRequest extends TokenDemand {
  readonly client: OAuthClient;
  readonly redirectUri: string;
}

const ID_BYTES = 24;

export class ConsentStore {
  readonly #flows: TypedRecords<Flow>;
  readonly #latest: TypedRecords<string>;
  readonly #outcomes: TypedRecords<z.infer<typeof outcomeShape>>;
  readonly #time: WallClock;

  constructor(records: Records, time: WallClock) {
    this.#flows = new TypedRecords(records, 'oauth-consents', flowShape);
    this.#latest = new TypedRecords(records, 'oauth-consents-latest', z.string());
    this.#outcomes = new TypedRecords(records, 'oauth-consents-ended', outcomeShape);
    this.#time = time;
  }

  /** The open flow, if it asks the same server for at least the same scopes: a hundred calls need one consent. */
  async open(request: ConsentRequest): Promise<Flow | undefined> {
    const flow = await this.latest(request.account, request.caller.principal.key);
    if (flow === undefined || flow.endsAt - this.#time.now() < credentialLimits.consentLeastMs) return undefined;
    const { found, client, scopes, redirectUri } = request;
    const same =
      flow.server.issuer === found.server.issuer &&
      flow.client.id === client.id &&
      flow.resource === found.resource &&
      flow.redirectUri === redirectUri;
    return same && covers(flow.asked, scopes) ? flow : undefined;
  }

  /** The flow that was begun last for this account and principal, if it has not ended. */
  async latest(account: string, principalKey: string): Promise<Flow | undefined> {
    const latest = await this.#latest.get(latestKey(account, principalKey));
    const flow = latest === undefined ? undefined : (await this.#flows.get(latest.value))?.value;
    return flow !== undefined && flow.endsAt > this.#time.now() ? flow : undefined;
  }

  async begin(request: ConsentRequest): Promise<Flow> {
    const flow = await newFlow(request, this.#time.now() + credentialLimits.consentMs);
    await this.#flows.put(flow.id, flow, flow.endsAt);
    await this.#latest.put(latestKey(request.account, request.caller.principal.key), flow.id, flow.endsAt);
    return flow;
  }

  async find(id: string): Promise<Flow | undefined> {
    return (await this.#flows.get(id))?.value;
  }

  /** Removes the flow. Of several concurrent callers, one gets it. */
  take(id: string): Promise<Flow | undefined> {
    return this.#flows.take(id);
  }

  async end(id: string, failure?: Failure): Promise<void> {
    const { reason, message, data } = failure ?? {};
    await this.#outcomes.put(id, { reason, message, data }, this.#time.now() + credentialLimits.outcomeMs);
  }

  async outcome(id: string): Promise<'done' | Failure | undefined> {
    const ended = (await this.#outcomes.get(id))?.value;
    if (ended === undefined) return undefined;
    const { reason, message, data } = ended;
    if (reason === undefined) return 'done';
    const known: Reason = Object.hasOwn(failures, reason) ? (reason as Reason) : 'internal_error';
    return new Failure(known, {
      ...(message === undefined ? {} : { message }),
      ...(data === undefined ? {} : { data }),
    });
  }
}

/** Includes the principal: for a shared backend, two principals may be asked at the same time. */
function latestKey(account: string, principalKey: string): string {
  return JSON.stringify([account, principalKey]);
}

async function newFlow(request: ConsentRequest, endsAt: number): Promise<Flow> {
  const { found, client, scopes, caller, redirectUri, account, backend } = request;
  const { server, resource } = found;
  const id = randomBytes(ID_BYTES).toString('base64url');
  // The id is in the link, which people may pass around; `state` is known only to us and the authorization server.
  const state = `${id}.${randomBytes(ID_BYTES).toString('base64url')}`;
  const verifier = generateRandomCodeVerifier();
  const authorizationUrl = new URL(server.authorization_endpoint ?? '');
  const wanted = withOfflineAccess(scopes, server.scopes_supported);
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource,
    ...(wanted.length === 0 ? {} : { scope: wanted.join(' ') }),
    // OpenID Connect Core, 11: without it `offline_access` is ignored.
    ...(wanted.includes(offlineAccess) ? { prompt: 'consent' } : {}),
  };
  for (const [name, value] of Object.entries(parameters)) authorizationUrl.searchParams.set(name, value);
  return {
    ...{ id, account, server, client, resource, redirectUri, state, verifier, endsAt },
    backend: backend.name,
    url: backend.settings.url,
    shared: backend.settings.auth.shared,
    principal: knownOf(caller.principal),
    asked: [...scopes],
    authorizationUrl: authorizationUrl.href,
  };
}

function knownOf({ key, kind, issuer, subject, keyName }: Principal): Flow['principal'] {
  return { key, kind, issuer, subject, keyName };
}

/** `state` begins with the id, so that the page can find the cookie of this flow. */
export function consentOf(state: string): string | undefined {
  const dot = state.indexOf('.');
  return dot > 0 ? state.slice(0, dot) : undefined;
}

export function consentIn({ id, backend, url, server, asked, principal, shared, endsAt }: Flow): Consent {
  const { issuer, authorization_endpoint: authorizationEndpoint } = server;
  return { id, backend, url, issuer, authorizationEndpoint, scopes: asked, principal, shared, endsAt };
}
