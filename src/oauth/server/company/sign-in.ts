/**
 * The way to the company's provider and back. A client's person has agreed to that client before the way begins: the
 * provider may let them pass without a page, so ours is the only one that names the client.
 * https://modelcontextprotocol.io/docs/tutorials/security/security_best_practices#confused-deputy-problem
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CookieJar } from '../../../web/cookies.ts';
import { type Errand, FlowCookies } from '../../flow-cookies.ts';
import { type FlowSecrets, newSecrets, newState, type OpenIdProvider } from '../../openid/provider.ts';
import { SignInError } from '../../openid/sign-in-error.ts';
import { type ByAddress, refuseByPage } from '../admission.ts';
import { leadTo, show } from '../pages/answers.ts';
import { notConfirmed } from '../pages/company.ts';
import { ended } from '../pages/others.ts';
import { paths } from '../paths.ts';
import type { AuthServerOutside } from '../ports.ts';
import type { CompanyPeople } from './people.ts';
import type { CompanySettings } from './settings.ts';

/** What the sign-in is for. */
export type Purpose =
  /** A client that the person has agreed to. */
  | { readonly kind: 'client'; readonly interaction: string }
  /** The gateway's own pages. */
  | { readonly kind: 'page'; readonly back?: string };

export interface Arrived {
  readonly name: string;
  readonly purpose: Purpose;
}

export interface CompanySignInParts {
  readonly issuer: URL;
  readonly settings: CompanySettings;
  readonly provider: OpenIdProvider;
  readonly people: Pick<CompanyPeople, 'admit'>;
  /** Of requests to the provider and lines in the log, which a stranger could cause without end. */
  readonly steps: Pick<ByAddress, 'wait'>;
}

/** In a sealed cookie, so that only the browser that began can end the flow. */
interface FlowState {
  readonly secrets: FlowSecrets;
  readonly purpose: Purpose;
}

export class CompanySignIn {
  readonly #parts: CompanySignInParts;
  readonly #flows: FlowCookies;
  readonly #warn: AuthServerOutside['warn'];
  readonly #redirectUri: string;

  constructor(parts: CompanySignInParts, { seal, time, warn }: Pick<AuthServerOutside, 'seal' | 'time' | 'warn'>) {
    this.#parts = parts;
    this.#warn = warn;
    this.#flows = new FlowCookies(new CookieJar(parts.issuer.href), seal, () => time.now());
    this.#redirectUri = new URL(paths.returned, parts.issuer).href;
  }

  get providerName(): string {
    return this.#parts.settings.name;
  }

  async begin(req: IncomingMessage, res: ServerResponse, purpose: Purpose): Promise<void> {
    if (!(await this.#admits(req, res))) return;
    const { provider, settings } = this.#parts;
    const state = newState();
    const secrets = newSecrets();
    const { scopes, parameters } = settings;
    try {
      const scope = (scopes ?? (await provider.usualScopes())).join(' ');
      const departure = { redirectUri: this.#redirectUri, state, secrets, scope, parameters };
      const url = await provider.authorizationUrl(departure);
      const kept: FlowState = { secrets, purpose };
      res.setHeader('set-cookie', this.#flows.leave({ kind: 'provider', state }, JSON.stringify(kept)));
      leadTo(res, url);
    } catch (error) {
      this.#refuse(res, error);
    }
  }

  /** Undefined where the person has not arrived: a page that says so was shown. */
  async arrive(req: IncomingMessage, res: ServerResponse): Promise<Arrived | undefined> {
    const parameters = new URL(req.url ?? '', this.#parts.issuer).searchParams;
    const states = parameters.getAll('state');
    const state = states.length === 1 ? (states[0] ?? '') : '';
    const errand: Errand = { kind: 'provider', state };
    const left = this.#flows.back(errand, req.headers.cookie);
    if (left === undefined) return void show(res, ended);
    if (!(await this.#admits(req, res))) return undefined;
    res.setHeader('set-cookie', this.#flows.arrived(errand));
    // Trusted: only we can seal it.
    const { secrets, purpose } = JSON.parse(left) as FlowState;
    try {
      const redirectUri = this.#redirectUri;
      const identified = await this.#parts.provider.identify({ redirectUri, state, secrets, parameters });
      return { name: await this.#parts.people.admit(identified), purpose };
    } catch (error) {
      this.#refuse(res, error);
    }
    return undefined;
  }

  async #admits(req: IncomingMessage, res: ServerResponse): Promise<boolean> {
    const wait = await this.#parts.steps.wait(req);
    return wait === 0 || refuseByPage(res, wait, 'too many sign-ins from this address');
  }

  #refuse(res: ServerResponse, error: unknown): void {
    if (!(error instanceof SignInError)) throw error;
    this.#warn('a sign-in at the provider failed', { why: error.message });
    show(res, notConfirmed(this.providerName, error.refused));
  }
}
