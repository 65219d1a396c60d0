/** The connect page and its form. */
import { Failure } from '../../../errors/failure.ts';
import type { Html } from '../../../web/html.ts';
import { formOf, type PageRequest, type PageResponse, seeOther, shown } from '../../../web/request.ts';
import type { FlowCookies } from '../../flow-cookies.ts';
import { SignInError } from '../../openid/sign-in-error.ts';
import { connectPath, signedInPath } from '../settings.ts';
import { askView, continueForm, type FormFacts, hostOf, keyForm, signInLink } from './ask-view.ts';
import type { Browsers } from './browser.ts';
import { depart } from './depart.ts';
import { keyAttempts, pageLimits } from './limits.ts';
import { failed, gone, hindered, malformed, staleForm, tooManyTries, wrongPerson } from './outcome-views.ts';
import type { ConnectPorts, PendingConsent } from './ports.ts';
import { type SignInWay, wayFor } from './ways.ts';

interface ConnectVisit {
  readonly id: string;
  readonly consent: PendingConsent;
  readonly request: PageRequest;
}

type WayOf<Kind extends SignInWay['kind']> = Extract<SignInWay, { readonly kind: Kind }>;

const unknownKey = 'This is not an access key of this gateway, or the key has expired.';

export class ConnectPages {
  readonly #ports: ConnectPorts;
  readonly #browsers: Browsers;
  readonly #flowCookies: FlowCookies;

  constructor(ports: ConnectPorts, browsers: Browsers, flowCookies: FlowCookies) {
    this.#ports = ports;
    this.#browsers = browsers;
    this.#flowCookies = flowCookies;
  }

  async show(request: PageRequest): Promise<PageResponse> {
    const visit = await this.#visitOf(request);
    if (visit === undefined) return gone;
    const way = wayFor(visit.consent.principal, request, this.#ports);
    switch (way.kind) {
      case 'here':
        return this.#ask(visit, (form) => continueForm(form, `Continue to ${hostOf(visit.consent.issuer)}`));
      case 'key':
        return this.#ask(visit, (form) => keyForm(form));
      case 'own':
        return this.#showOwn(visit, way);
      case 'foreign':
        return this.#ask(visit, (form) => continueForm(form, `Sign in at ${hostOf(way.issuer)}`));
      case 'none':
        return hindered(way.why);
    }
  }

  /** The form must bring the proof again, whatever the page has seen before. */
  async take(request: PageRequest): Promise<PageResponse> {
    const visit = await this.#visitOf(request);
    if (visit === undefined) return gone;
    const form = formOf(request);
    if (form === undefined) return malformed;
    if (!this.#browsers.sentForm(request, visit.id, form.get('token'))) return staleForm;
    const way = wayFor(visit.consent.principal, request, this.#ports);
    switch (way.kind) {
      case 'here':
        return this.#depart(visit);
      case 'key':
        return this.#takeKey(visit, way, form.get('key') ?? '');
      case 'own':
        return this.#takeOwn(visit, way);
      case 'foreign':
        return this.#leaveToSignIn(visit, way);
      case 'none':
        return hindered(way.why);
    }
  }

  async #visitOf(request: PageRequest): Promise<ConnectVisit | undefined> {
    const id = idIn(request.path);
    const consent = id === undefined ? undefined : await this.#ports.consents.find(id);
    return id === undefined || consent === undefined ? undefined : { id, consent, request };
  }

  async #showOwn(visit: ConnectVisit, { signIn }: WayOf<'own'>): Promise<PageResponse> {
    const { id, consent, request } = visit;
    const who = await signIn.signedIn(request.headers.cookie);
    if (who === undefined) return this.#ask(visit, () => signInLink(signIn.signInUrl(connectPath + id)));
    if (who !== consent.principal.key) return wrongPerson;
    return this.#ask(visit, (form) => continueForm(form, `Continue to ${hostOf(consent.issuer)}`), { proven: true });
  }

  async #takeOwn(visit: ConnectVisit, way: WayOf<'own'>): Promise<PageResponse> {
    const who = await way.signIn.signedIn(visit.request.headers.cookie);
    // The session ended after the page was shown: the page shows how to sign in.
    if (who === undefined) return seeOther(connectPath + visit.id);
    return who === visit.consent.principal.key ? this.#depart(visit) : wrongPerson;
  }

  async #takeKey(visit: ConnectVisit, { keyOf }: WayOf<'key'>, key: string): Promise<PageResponse> {
    const { attempts } = this.#ports;
    // At the limit even the right key is refused, and the person needs a new link.
    const counters = [{ ...keyAttempts, kind: 'link', name: visit.id }];
    const wait = await attempts.attempt(counters);
    if (wait > 0) return tooManyTries(wait);
    const who = keyOf(key.trim());
    if (who === visit.consent.principal.key) {
      await attempts.takeBack(counters);
      return this.#depart(visit);
    }
    if (who !== undefined) return wrongPerson;
    this.#ports.refused(new Failure('key_unknown'), visit.request.clientAddress);
    return this.#ask(visit, (form) => keyForm(form, unknownKey), { status: 403 });
  }

  async #leaveToSignIn({ id }: ConnectVisit, { signIn, issuer }: WayOf<'foreign'>): Promise<PageResponse> {
    try {
      const { url, state, kept } = await signIn.begin(issuer, new URL(signedInPath, this.#ports.publicUrl).href);
      const cookie = this.#flowCookies.leave({ kind: 'sign-in', state }, JSON.stringify({ id, kept }));
      return seeOther(url, { 'set-cookie': [cookie] });
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      this.#ports.warn('people cannot sign in at an issuer', { issuer, why: error.message });
      return failed({ reason: 'sign_in_failed', text: 'The issuer of your account cannot be reached at the moment.' });
    }
  }

  #depart({ id }: ConnectVisit): Promise<PageResponse> {
    return depart({ id }, this.#ports.consents, this.#flowCookies);
  }

  #ask(
    { id, consent, request }: ConnectVisit,
    proofOf: (form: FormFacts) => Html,
    { status = 200, proven = false }: { readonly status?: number; readonly proven?: boolean } = {},
  ): PageResponse {
    const browser = this.#browsers.meet(request);
    const proof = proofOf({ action: connectPath + id, token: browser.formToken(id) });
    const view = askView({ consent, proof, proven, formsLeadTo: formTargets(consent) });
    return shown(status, view, { 'set-cookie': browser.setCookie });
  }
}

/** Undefined if no consent can have this path. */
function idIn(path: string): string | undefined {
  const id = path.slice(connectPath.length);
  return path.startsWith(connectPath) && id.length <= pageLimits.idChars && /^[\w-]+$/.test(id) ? id : undefined;
}

/**
 * The authorization server may redirect people to other sign-in servers before it shows a page, and we cannot know
 * those beforehand. Plain http is allowed on this machine alone.
 */
function formTargets({ issuer, principal }: PendingConsent): readonly string[] {
  const isPlain = [issuer, principal.issuer].some((address) => address?.startsWith('http:'));
  return isPlain ? ['https:', 'http://127.0.0.1:*', 'http://localhost:*'] : ['https:'];
}
