/**
 * `/connect`: the backends that want a person's own account, whether each is connected, and the link to consent. The
 * address says nothing about the person, who proves who they are as on every consent page.
 */
import { Failure } from '../../../errors/failure.ts';
import type { Principal } from '../../../identity/principal.ts';
import { page } from '../../../web/frame.ts';
import { type Html, html } from '../../../web/html.ts';
import { formOf, type PageRequest, type PageResponse, shown } from '../../../web/request.ts';
import type { BackendAccount } from '../accounts.ts';
import { accountsPath, connectPath } from '../settings.ts';
import { hostOf, keyForm, signInLink } from './ask-view.ts';
import type { Browsers } from './browser.ts';
import { keyAttempts, pageLimits } from './limits.ts';
import { malformed, staleForm, tooManyTries } from './outcome-views.ts';
import type { ConnectPorts } from './ports.ts';
import { isHere } from './ways.ts';

const unknownKey = 'This is not an access key of this gateway, or the key has expired.';

export class AccountListPages {
  readonly #ports: ConnectPorts;
  readonly #browsers: Browsers;

  constructor(ports: ConnectPorts, browsers: Browsers) {
    this.#ports = ports;
    this.#browsers = browsers;
  }

  async show(request: PageRequest): Promise<PageResponse> {
    const { people, publicUrl } = this.#ports;
    const user = await people.user?.(request.headers.cookie);
    if (user !== undefined) return this.#list(user);
    if (people.local !== undefined)
      return isHere(request, publicUrl) ? this.#list(people.local) : this.#prove(elsewhere);
    return this.#ask(request);
  }

  /** The form brings a key. It is asked for again on the next visit: nothing is kept of it. */
  async take(request: PageRequest): Promise<PageResponse> {
    const form = formOf(request);
    const { people, attempts } = this.#ports;
    if (form === undefined || people.holder === undefined) return malformed;
    if (!this.#browsers.sentForm(request, accountsPath, form.get('token'))) return staleForm;
    const { clientAddress } = request;
    const counters = [{ ...keyAttempts, kind: 'accounts', name: clientAddress }];
    const wait = await attempts.attempt(counters);
    if (wait > 0) return tooManyTries(wait);
    const holder = people.holder(form.get('key')?.trim() ?? '');
    if (holder !== undefined) {
      await attempts.takeBack(counters);
      return this.#list(holder);
    }
    this.#ports.refused(new Failure('key_unknown'), clientAddress);
    return this.#ask(request, unknownKey);
  }

  #ask(request: PageRequest, mistake?: string): PageResponse {
    const { people, ownSignIn } = this.#ports;
    const browser = this.#browsers.meet(request);
    const form = { action: accountsPath, token: browser.formToken(accountsPath) };
    const body = html`<p>Some MCP servers behind this gateway use an account of your own. Show who you are to see them.</p>
${ownSignIn !== undefined && html`<p>${signInLink(ownSignIn.signInUrl(accountsPath))}</p>`}
${people.holder !== undefined && keyForm(form, mistake)}
${ownSignIn === undefined && people.holder === undefined && html`<p>This gateway has no sign-in of its own. Use the server in your MCP client: it shows you a link.</p>`}`;
    return this.#prove(body, mistake === undefined ? 200 : 403, browser.setCookie);
  }

  #prove(body: Html, status = 200, cookies: readonly string[] = []): PageResponse {
    return shown(status, page({ title: 'Your accounts', body }), { 'set-cookie': cookies });
  }

  async #list(person: Principal): Promise<PageResponse> {
    const accounts = await this.#ports.people.accounts(person);
    const body =
      accounts.length === 0
        ? html`<p>No MCP server behind this gateway wants an account of yours.</p>`
        : html`<p>These MCP servers use an account of your own. You grant access at their authorization server; the gateway does not see your password.</p>
<dl>${accounts.map(accountView)}</dl>
<p class="soft">To withdraw access, remove this gateway at the authorization server.</p>`;
    return shown(200, page({ title: 'Your accounts', body }));
  }
}

function accountView(account: BackendAccount): Html {
  return html`<div><dt>${account.backend}</dt><dd>${stateView(account)}</dd></div>`;
}

function stateView({ state, issuer, scopes = [], shared, pending }: BackendAccount): Html {
  const at = issuer !== undefined && html` at <span class="code">${hostOf(issuer)}</span>`;
  const asked =
    scopes.length > 0 && html`<br><span class="soft">${scopes.slice(0, pageLimits.shownScopes).join(' ')}</span>`;
  switch (state) {
    case 'connected':
      return html`<span class="good">Connected</span>${at}${shared && html`, one account for everybody`}${asked}`;
    case 'pending':
      return html`Needs your consent${at}<br><a href="${connectPath}${pending?.id ?? ''}">Connect</a>`;
    case 'none':
      return html`Not connected. <span class="soft">The server has not asked for consent yet.</span>`;
    case 'unknown':
      return html`Unknown: the gateway cannot read its records at the moment.`;
  }
}

const elsewhere = html`<p>Open this page in a browser on the computer that the gateway runs on, without a proxy in between.</p>`;
