/** Sign-in and sign-out outside of an OAuth flow. Other pages of the gateway ask here which user is signed in. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider, Session } from 'oidc-provider';
import type { CompanySignIn } from './company/sign-in.ts';
import { formCookie } from './cookies.ts';
import type { Directory } from './directory.ts';
import { type FormTokens, readForm } from './forms.ts';
import { leadTo, show } from './pages/answers.ts';
import { companySignInPage } from './pages/company.ts';
import { loginPage } from './pages/login.ts';
import { ended, signedIn, signedOut, signOutPage } from './pages/others.ts';
import { type SignInForm, type SignInParts, signInBy } from './sign-in.ts';

export interface AccountParts extends SignInParts {
  readonly provider: Provider;
  readonly tokens: FormTokens;
  readonly directory: Pick<Directory, 'isCurrent' | 'shownAs'>;
  /** Absent where people sign in with a password. */
  readonly company: Pick<CompanySignIn, 'begin' | 'providerName'> | undefined;
  readonly issuer: URL;
  readonly signedInMs: number;
}

/** A path on this host. The pattern excludes `//` and backslashes, which a browser could read as a different host. */
const ownPage = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;

/** 256 bits: too many to guess. */
const SECRET_BYTES = 32;

export class Accounts {
  readonly #parts: AccountParts;

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  /**
   * The user whom the browser with these cookies is signed in as. Undefined once the user is removed or has a new
   * password.
   */
  async who(cookies: string | undefined): Promise<string | undefined> {
    if (cookies === undefined) return undefined;
    const { issuer, directory } = this.#parts;
    const request = { headers: { cookie: cookies, host: issuer.host }, socket: {} } as IncomingMessage;
    const session = await this.#sessionOf(request, {} as ServerResponse);
    const name = session?.accountId;
    return name !== undefined && (await directory.isCurrent(name, session?.loginTs)) ? name : undefined;
  }

  /** After sign-in, `?return=/path` redirects to a page of this gateway. */
  async signIn(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { tokens, company } = this.#parts;
    const target = new URL(req.url ?? '', this.#parts.issuer).searchParams.get('return') ?? '';
    const back = ownPage.test(target) ? target : undefined;
    const known = this.#browserOf(req, res);
    if (req.method !== 'POST') {
      const browser = known ?? this.#meet(req, res);
      const token = tokens.make('sign-in', browser, back ?? '');
      return show(
        res,
        company === undefined ? loginPage({ token }) : companySignInPage({ token, provider: company.providerName }),
      );
    }
    const form = await readForm(req);
    if (form === undefined || known === undefined) return show(res, ended);
    const token = tokens.make('sign-in', known, back ?? '');
    if (!tokens.isRight(form.get('token'), 'sign-in', known, back ?? '')) return show(res, ended);
    if (company !== undefined) return company.begin(req, res, { kind: 'page', ...(back !== undefined && { back }) });
    const again: SignInForm['again'] = (more) => loginPage({ token, ...more });
    const name = await signInBy({ req, res, form, again }, this.#parts);
    if (name !== undefined) await this.enter(req, res, name, back);
  }

  /** Signs the browser in, and leads on. */
  async enter(req: IncomingMessage, res: ServerResponse, name: string, back: string | undefined): Promise<void> {
    await this.#begin(req, res, name);
    if (back === undefined) show(res, signedIn);
    else leadTo(res, back);
  }

  async signOut(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { tokens } = this.#parts;
    const session = await this.#sessionOf(req, res);
    const user = session?.accountId;
    if (session === undefined || user === undefined) return show(res, signedOut);
    if (req.method !== 'POST') {
      const shown = await this.#parts.directory.shownAs(user);
      return show(res, signOutPage(shown, tokens.make('sign-out', session.uid)));
    }
    const form = await readForm(req);
    if (!tokens.isRight(form?.get('token') ?? null, 'sign-out', session.uid)) return show(res, ended);
    await session.destroy();
    show(res, signedOut);
  }

  /** Always start a new session: an attacker may have planted the old one (session fixation). */
  async #begin(req: IncomingMessage, res: ServerResponse, name: string): Promise<void> {
    const { provider, signedInMs } = this.#parts;
    await (await this.#sessionOf(req, res))?.destroy();
    const session = new provider.Session();
    session.loginAccount({ accountId: name, ...(this.#parts.company === undefined && { amr: ['pwd'] }) });
    await session.save(Math.floor(signedInMs / 1000));
    const { cookies } = provider.createContext(req, res);
    cookies.set(provider.cookieName('session'), session.jti, { ...this.#cookieOptions, maxAge: signedInMs });
  }

  #browserOf(req: IncomingMessage, res: ServerResponse): string | undefined {
    const { provider, issuer } = this.#parts;
    return provider.createContext(req, res).cookies.get(formCookie(issuer), { signed: true });
  }

  /**
   * Sets a cookie that lives until the browser closes. The form's token is bound to it, so an attacker cannot fetch a
   * form and have a different browser submit it.
   */
  #meet(req: IncomingMessage, res: ServerResponse): string {
    const { provider, issuer } = this.#parts;
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    provider.createContext(req, res).cookies.set(formCookie(issuer), secret, this.#cookieOptions);
    return secret;
  }

  get #cookieOptions(): object {
    const secure = this.#parts.issuer.protocol === 'https:';
    return { httpOnly: true, sameSite: 'lax', signed: true, path: '/', secure };
  }

  async #sessionOf(req: IncomingMessage, res: ServerResponse): Promise<Session | undefined> {
    const { provider } = this.#parts;
    const { cookies } = provider.createContext(req, res);
    const id = cookies.get(provider.cookieName('session'), { signed: true });
    return id === undefined ? undefined : provider.Session.find(id);
  }
}
