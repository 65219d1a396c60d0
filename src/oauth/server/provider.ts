/**
 * Configures oidc-provider. The only file that loads the library, and only when an authorization server is configured.
 */
import type { IncomingMessage } from 'node:http';
import type { AdapterPayload, Configuration, ErrorOut, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { RecordsAdapter } from './adapter.ts';
import { settleMetadata } from './clients.ts';
import { cookiesFor } from './cookies.ts';
import type { Directory } from './directory.ts';
import type { Holder, Holdings } from './holdings.ts';
import { type ServerKeys, signingAlgorithm } from './keys.ts';
import { authServerLimits as limits } from './limits.ts';
import { paths } from './paths.ts';
import type { AuthServerOutside } from './ports.ts';
import type { Resources } from './resources.ts';
import type { ScopeBook } from './scopes.ts';
import type { AuthServerSettings } from './settings.ts';

export interface ProviderParts {
  readonly issuer: string;
  readonly settings: AuthServerSettings;
  readonly outside: AuthServerOutside;
  readonly keys: ServerKeys;
  readonly resources: Resources;
  readonly scopes: ScopeBook;
  readonly directory: Pick<Directory, 'isCurrent' | 'mayRefresh' | 'groupsOf'>;
  /** How long a browser stays signed in. */
  readonly signedInMs: number;
  /** Whether access tokens carry the groups, because no file has them. */
  readonly carriesGroups: boolean;
  /** By the name of the library's model. */
  readonly holdings: ReadonlyMap<string, Holdings>;
  /** The network that a request comes from. */
  networkOf(req: IncomingMessage): string;
  /** Whether one more metadata document may be fetched for this request. */
  mayFetch(context: KoaContextWithOIDC): Promise<boolean>;
  showError(context: KoaContextWithOIDC, error: ErrorOut): void;
}

const seconds = (ms: number) => Math.max(1, Math.floor(ms / 1000));

export async function createProvider(parts: ProviderParts): Promise<Provider> {
  const library = await loadQuietly();
  const provider = new library.Provider(parts.issuer, configurationOf(parts, library));
  // The library then takes the scheme from `x-forwarded-proto`, which create.ts sets and no client can.
  provider.proxy = true;
  return provider;
}

type Library = typeof import('oidc-provider');

/**
 * Silences the library's warnings about the runtime while it loads. An operator cannot act on them, and stdout may
 * carry a protocol.
 */
async function loadQuietly(): Promise<Library> {
  const { warn, info } = console;
  console.warn = () => undefined;
  console.info = () => undefined;
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
    console.info = info;
  }
}

function configurationOf(parts: ProviderParts, { errors, interactionPolicy, Provider }: Library): Configuration {
  const { settings, outside, keys, resources, scopes, directory } = parts;
  const { records, time } = outside;
  return {
    adapter: (model) =>
      new RecordsAdapter(model, {
        records,
        time,
        clientEndsAt: () => time.now() + limits.unusedClientMs,
        alreadyUsed: () => new errors.InvalidGrant('it was already used'),
        holdings: parts.holdings,
        holderOf: (payload) => userIn(payload) ?? networkIn(Provider.ctx, parts),
      }),
    jwks: keys.signing,
    cookies: cookiesFor(parts.issuer, keys.cookie),
    routes: {
      authorization: paths.authorize,
      token: paths.token,
      registration: paths.register,
      revocation: paths.revoke,
      jwks: paths.jwks,
      end_session: paths.endSession,
    },
    scopes: scopes.requestable,
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    clientDefaults: {
      grant_types: ['authorization_code'],
      response_types: ['code'],
      // Most clients run on a person's computer and cannot keep a secret, but RFC 7591, 2 has this default.
      token_endpoint_auth_method: 'client_secret_basic',
      id_token_signed_response_alg: signingAlgorithm,
    },
    enabledJWA: {
      clientAuthSigningAlgValues: ['RS256', 'PS256', 'ES256', 'EdDSA'],
      idTokenSigningAlgValues: [signingAlgorithm],
    },
    pkce: { required: () => true },
    extraClientMetadata: {
      // A name that no client sends. The library calls the validator once for each name, with all metadata.
      properties: [hook],
      validator: (_context, _key, _value, metadata) => {
        delete metadata[hook];
        const fault = settleMetadata(metadata, scopes.requestable);
        if (fault !== undefined) throw new errors.InvalidClientMetadata(fault);
      },
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      registration: {
        enabled: settings.registration === 'open',
        issueRegistrationAccessToken: false,
      },
      clientIdMetadataDocument: {
        enabled: settings.metadataDocuments,
        ack: 'draft-02',
        allowFetch: (context) => parts.mayFetch(context),
        cacheDuration: {
          min: seconds(limits.metadataDocumentMinMs),
          max: seconds(limits.metadataDocumentMaxMs),
        },
      },
      // RFC 7009, 2.1. A client cannot learn that a token of a different client exists.
      revocation: { enabled: true, allowedPolicy: (_context, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_context, _client, oneOf) => oneOf ?? resources.usual,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, indicator) => {
          const found = resources.find(indicator);
          if (found === undefined) throw new errors.InvalidTarget();
          return {
            audience: found.audience,
            scope: scopes.all.join(' '),
            accessTokenFormat: 'jwt',
            accessTokenTTL: seconds(settings.tokenTtlMs),
            jwt: { sign: { alg: signingAlgorithm, kid: keys.signing.keys[0]?.kid } },
          };
        },
      },
    },
    // Tokens live for their full lifetime, whether or not the browser is still signed in.
    expiresWithSession: () => false,
    issueRefreshToken: (_context, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    ttl: {
      AccessToken: seconds(settings.tokenTtlMs),
      AuthorizationCode: seconds(limits.codeMs),
      Grant: seconds(settings.refreshTtlMs),
      IdToken: seconds(settings.tokenTtlMs),
      Interaction: seconds(limits.interactionMs),
      Session: seconds(parts.signedInMs),
      // Counted from the person's consent, however often the token is rotated.
      RefreshToken: ({ oidc }) =>
        Math.max(1, oidc.entities.RotatedRefreshToken?.remainingTTL ?? seconds(settings.refreshTtlMs)),
    },
    findAccount: async ({ oidc }, name, token: IssuedToken = {}) => {
      const since = token.iiat ?? token.iat;
      const isRefresh = oidc.params?.grant_type === 'refresh_token';
      const isCurrent = await (isRefresh ? directory.mayRefresh(name, since) : directory.isCurrent(name, since));
      return isCurrent ? { accountId: name, claims: () => ({ sub: name }) } : undefined;
    },
    ...(parts.carriesGroups && {
      extraTokenClaims: async ({ oidc }) => ({ groups: await directory.groupsOf(oidc.account?.accountId ?? '') }),
    }),
    interactions: {
      url: (_context, { uid }) => `${paths.interaction}/${uid}`,
      policy: policyOf(interactionPolicy, directory),
    },
    clientBasedCORS: () => false,
    // Replaces the library's own guard, which closes a forbidden connection only after it was made.
    fetch: (url, init) => outside.outwardFetch(String(url), init),
    fetchResponseBodyLimits: {
      'client_id metadata document': limits.metadataDocumentBytes,
      jwks_uri: limits.registrationBytes,
      sector_identifier_uri: limits.registrationBytes,
    },
    renderError: (context, out) => parts.showError(context, out),
  };
}

const hook = 'bascule';

/** `iiat`: when the first token of a chain of rotated ones was issued. */
interface IssuedToken {
  readonly iat?: number | undefined;
  readonly iiat?: number | undefined;
}

/** The user of an interaction, once the password was right. */
function userIn({ session, result }: AdapterPayload): Holder | undefined {
  const name = result?.login?.accountId ?? session?.accountId;
  return name === undefined ? undefined : { kind: 'user', name };
}

function networkIn(context: KoaContextWithOIDC | undefined, { networkOf }: ProviderParts): Holder | undefined {
  return context === undefined ? undefined : { kind: 'network', name: networkOf(context.req) };
}

/** Requires a new sign-in from a browser that signed in before the user was removed or the password changed. */
function policyOf({ base, Check }: Library['interactionPolicy'], directory: Pick<Directory, 'isCurrent'>) {
  const policy = base();
  policy.get('login')?.checks.add(
    new Check('user_changed', 'another user is signed in', async ({ oidc }) => {
      const { session, result } = oidc;
      if (session?.accountId === undefined || result?.login !== undefined) return Check.NO_NEED_TO_PROMPT;
      return (await directory.isCurrent(session.accountId, session.loginTs))
        ? Check.NO_NEED_TO_PROMPT
        : Check.REQUEST_PROMPT;
    }),
  );
  return policy;
}
