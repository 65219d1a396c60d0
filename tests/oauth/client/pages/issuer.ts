/** An issuer that signs people in, without a network. What it gets wrong is for the test to say. */
import { createHash, randomUUID } from 'node:crypto';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export interface Faults {
  /** Over the right claims of the ID token. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly wrongKey?: boolean;
  readonly noIdToken?: boolean;
  readonly down?: boolean;
}

interface Granted {
  readonly challenge: string;
  readonly nonce: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly subject: string;
}

export class TestIssuer {
  readonly issuer: string;
  faults: Faults = {};
  readonly asked: string[] = [];
  readonly #codes = new Map<string, Granted>();
  readonly #key: CryptoKey;
  readonly #other: CryptoKey;
  readonly #jwk: JWK;

  private constructor(issuer: string, key: CryptoKey, other: CryptoKey, jwk: JWK) {
    this.issuer = issuer;
    this.#key = key;
    this.#other = other;
    this.#jwk = jwk;
  }

  static async create(issuer = 'https://id.example'): Promise<TestIssuer> {
    const [pair, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
    const jwk = { ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
    return new TestIssuer(issuer, pair.privateKey, other.privateKey, jwk);
  }

  /** A person signs in: the query with which the browser comes back. */
  signIn(address: string, subject: string): string {
    const asked = new URL(address).searchParams;
    const need = (name: string): string => asked.get(name) ?? '';
    const code = randomUUID();
    this.#codes.set(code, {
      challenge: need('code_challenge'),
      nonce: need('nonce'),
      clientId: need('client_id'),
      redirectUri: need('redirect_uri'),
      subject,
    });
    return new URLSearchParams({ code, state: need('state'), iss: this.issuer }).toString();
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    this.asked.push(url);
    if (this.faults.down) throw new TypeError('fetch failed');
    if (url === `${this.issuer}/.well-known/openid-configuration`) return Response.json(this.#metadata());
    if (url === `${this.issuer}/keys`) return Response.json({ keys: [this.#jwk] });
    if (url === `${this.issuer}/token`) return this.#token(new URLSearchParams(String(init.body)));
    return new Response('', { status: 404 });
  };

  #metadata(): object {
    return {
      issuer: this.issuer,
      authorization_endpoint: `${this.issuer}/authorize`,
      token_endpoint: `${this.issuer}/token`,
      jwks_uri: `${this.issuer}/keys`,
      authorization_response_iss_parameter_supported: true,
      id_token_signing_alg_values_supported: ['ES256'],
      ...this.faults.metadata,
    };
  }

  async #token(form: URLSearchParams): Promise<Response> {
    const code = form.get('code') ?? '';
    const granted = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isRight = granted?.challenge === challenge && granted.redirectUri === form.get('redirect_uri');
    if (granted === undefined || !isRight) return Response.json({ error: 'invalid_grant' }, { status: 400 });
    const { claims, wrongKey, noIdToken } = this.faults;
    const seconds = Math.floor(Date.now() / 1000);
    const token = await new SignJWT({
      iss: this.issuer,
      sub: granted.subject,
      aud: granted.clientId,
      nonce: granted.nonce,
      iat: seconds,
      exp: seconds + 300,
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(wrongKey ? this.#other : this.#key);
    return Response.json({ access_token: 'unused', token_type: 'Bearer', ...(noIdToken ? {} : { id_token: token }) });
  }
}
