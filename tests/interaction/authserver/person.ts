/** The OAuth provider of an SDK client, and a user at a browser who consents to everything. */
import { callback, type Setting } from './setting.ts';

export interface Saved {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly token_type: string;
}

export class Person {
  readonly #setting: Setting;
  readonly redirectUrl = callback;
  readonly clientMetadata = {
    client_name: 'SDK client',
    redirect_uris: [callback],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  #client: object | undefined;
  #verifier = '';
  saved: Saved | undefined;
  /** Where the browser was sent with the code. */
  back: URL | undefined;
  visits = 0;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  clientInformation() {
    return this.#client;
  }

  saveClientInformation(client: object): void {
    this.#client = client;
  }

  tokens() {
    return this.saved;
  }

  saveTokens(tokens: Saved): void {
    this.saved = tokens;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  /** Which server the code is of, kept beside the verifier. */
  #discovery: object | undefined;

  saveDiscoveryState(state: object): void {
    this.#discovery = state;
  }

  discoveryState() {
    return this.#discovery;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.visits += 1;
    this.back = await this.#setting.agree(this.#setting.browser(), url);
  }
}
