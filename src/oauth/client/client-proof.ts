/** Client authentication at the token endpoint (RFC 6749, 2.3; RFC 7523, 2.2). */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { type ClientAuth, ClientSecretPost, None, PrivateKeyJwt } from 'oauth4webapi';
import type { authMethods, OAuthClient } from './client.ts';
import type { ServerMetadata } from './server-metadata.ts';
import type { BackendAuth } from './settings.ts';

type Method = (typeof authMethods)[number];
type ProofKey = Parameters<typeof PrivateKeyJwt>[0];

export async function proofOf(client: OAuthClient, server: ServerMetadata, auth: BackendAuth): Promise<ClientAuth> {
  const configured = client.kind === 'configured';
  if (configured && auth.privateKey !== undefined) return PrivateKeyJwt(await signingKey(auth.privateKey, server));
  const secret = configured ? auth.clientSecret : client.secret;
  if (secret === undefined) return None();
  const method = client.method ?? preferredMethod(server);
  return method === 'client_secret_post' ? ClientSecretPost(secret) : secretBasic(secret);
}

/**
 * RFC 6749, 2.3.1: id and secret are form-encoded, and no more than that. The library also encodes characters that a
 * form does not; many servers compare without decoding and would not recognize a client id with a dash.
 */
function secretBasic(secret: string): ClientAuth {
  return (_server, client, _body, headers) => {
    const pair = [client.client_id, secret].map((text) => new URLSearchParams([['', text]]).toString().slice(1));
    headers.set('authorization', `Basic ${Buffer.from(pair.join(':')).toString('base64')}`);
  };
}

/**
 * Prefers methods with a secret: a server can then tell the client from the thief of a refresh token. RFC 8414, 2 has
 * the default.
 */
export function preferredMethod({ token_endpoint_auth_methods_supported: offered }: ServerMetadata): Method {
  const preferred: readonly Method[] = ['client_secret_basic', 'client_secret_post', 'none'];
  return preferred.find((method) => offered?.includes(method)) ?? 'client_secret_basic';
}

/** The key with an algorithm that fits its type and the server's list. Throws if it is not a signing key. */
async function signingKey(pem: string, server: ServerMetadata): Promise<ProofKey> {
  const key = createPrivateKey(pem);
  const algorithm = algorithmOf(key, server.token_endpoint_auth_signing_alg_values_supported);
  const der = key.export({ format: 'der', type: 'pkcs8' });
  return crypto.subtle.importKey('pkcs8', new Uint8Array(der), algorithm, false, ['sign']);
}

/** For config validation: whether `signingKey` will accept it. */
export function isSigningKey(pem: string): boolean {
  try {
    algorithmOf(createPrivateKey(pem), undefined);
    return true;
  } catch {
    return false;
  }
}

interface KeyAlgorithm {
  readonly name: string;
  readonly hash?: string;
  readonly namedCurve?: string;
}

const curves: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };

function algorithmOf(key: KeyObject, offered: readonly string[] | undefined): KeyAlgorithm {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === 'rsa') {
    // Every server supports RFC 7518, 3.3. Use PSS only if the server lists it and not the other.
    const name = offered?.includes('PS256') && !offered.includes('RS256') ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5';
    return { name, hash: 'SHA-256' };
  }
  const namedCurve = curves[details?.namedCurve ?? ''];
  if (type === 'ec' && namedCurve !== undefined) return { name: 'ECDSA', namedCurve };
  if (type === 'ed25519') return { name: 'Ed25519' };
  throw new TypeError('the private key cannot sign');
}
