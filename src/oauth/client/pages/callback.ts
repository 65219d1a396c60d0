/** Redirects back to us: from the backend's authorization server, and from the issuer of the person's own account. */
import { Failure } from '../../../errors/failure.ts';
import { type PageRequest, type PageResponse, single } from '../../../web/request.ts';
import type { Errand, FlowCookies } from '../../flow-cookies.ts';
import { SignInError } from '../../openid/sign-in-error.ts';
import { consentOf } from '../consent-store.ts';
import { signedInPath } from '../settings.ts';
import { hostOf } from './ask-view.ts';
import { depart, failureView } from './depart.ts';
import {
  connected,
  failed,
  gone,
  hindered,
  malformed,
  mismatched,
  refused,
  type SaidError,
  unbound,
  wrongPerson,
} from './outcome-views.ts';
import type { ConnectPorts, PendingConsent } from './ports.ts';

type CallbackParameters = ReadonlyMap<string, string>;

export class CallbackPages {
  readonly #ports: ConnectPorts;
  readonly #flowCookies: FlowCookies;

  constructor(ports: ConnectPorts, flowCookies: FlowCookies) {
    this.#ports = ports;
    this.#flowCookies = flowCookies;
  }

  async consented({ query, headers }: PageRequest): Promise<PageResponse> {
    const said = single(query);
    const state = said?.get('state');
    if (said === undefined || state === undefined) return malformed;
    const id = consentOf(state) ?? '';
    const errand: Errand = { kind: 'consent', id };
    const left = this.#flowCookies.back(errand, headers.cookie);
    if (left === undefined || (left !== '' && left !== state)) return unbound;
    const cookies = [this.#flowCookies.arrived(errand)];
    const consent = await this.#ports.consents.find(id);
    if (consent === undefined) return without(gone, cookies);
    try {
      await this.#ports.consents.complete(id, query);
      return connected(consent, cookies);
    } catch (error) {
      return unfinished(error, consent, said, cookies);
    }
  }

  async signedIn({ query, headers }: PageRequest): Promise<PageResponse> {
    const said = single(query);
    const state = said?.get('state');
    if (said === undefined || state === undefined) return malformed;
    const errand: Errand = { kind: 'sign-in', state };
    const left = this.#flowCookies.back(errand, headers.cookie);
    if (left === undefined) return unbound;
    const cookies = [this.#flowCookies.arrived(errand)];
    // Trusted: only we can seal it.
    const { id, kept } = JSON.parse(left) as { readonly id: string; readonly kept: string };
    const principal = (await this.#ports.consents.find(id))?.principal;
    if (principal === undefined) return without(gone, cookies);
    const { foreignSignIn: signIn, publicUrl } = this.#ports;
    const { issuer } = principal;
    if (signIn === undefined || issuer === undefined) return without(hindered('unconfigured'), cookies);
    try {
      const redirectUri = new URL(signedInPath, publicUrl).href;
      const who = await signIn.complete({ state, kept }, { issuer, redirectUri, parameters: query });
      const isSame = who.issuer === issuer && who.subject === principal.subject;
      if (!isSame) return without(wrongPerson, cookies);
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      this.#ports.warn('a sign-in at an issuer failed', { issuer, why: error.message });
      const text = 'The issuer of your account did not confirm who you are.';
      const told = error.refused ? saidError(issuer, said) : undefined;
      return told === undefined ? failed({ reason: 'sign_in_failed', text }, cookies) : refused(told, cookies);
    }
    return depart({ id, cookies }, this.#ports.consents, this.#flowCookies);
  }
}

function unfinished(
  error: unknown,
  consent: PendingConsent,
  said: CallbackParameters,
  cookies: readonly string[],
): PageResponse {
  if (!(error instanceof Failure)) throw error;
  const reason: string = error.reason;
  // Keep the cookie: the right response may still come.
  if (reason === 'consent_invalid') return mismatched;
  const told = reason === 'consent_refused' ? saidError(consent.issuer, said) : undefined;
  return told === undefined ? failureView(error, cookies) : refused(told, cookies);
}

/** Used only after `iss` proved that the response is from that server. */
function saidError(issuer: string, said: CallbackParameters): SaidError | undefined {
  const error = said.get('error');
  return error === undefined ? undefined : { host: hostOf(issuer), error, description: said.get('error_description') };
}

/** Adds the headers that delete the flow's cookies. */
function without(answer: PageResponse, cookies: readonly string[]): PageResponse {
  return { ...answer, headers: { ...answer.headers, 'set-cookie': cookies } };
}
