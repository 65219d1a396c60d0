/** A browser without a screen: cookies by path, redirects one by one, forms as they stand in the page. */

export interface Visited {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface Cookie {
  readonly value: string;
  readonly path: string;
}

/** The gateway may have been started anew since the last request: no connection is kept. */
export const alone = { connection: 'close' } as const;

/** More than any flow here takes. */
const MOST_REDIRECTS = 12;

export class Browser {
  /** By host, then by name and path: as browsers do, without regard to ports. */
  readonly #jar = new Map<string, Cookie>();
  /** Where pages other than the gateway's would be: a redirect to there is the end of the way. */
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  get cookies(): ReadonlyMap<string, Cookie> {
    return this.#jar;
  }

  /** Follows redirects as long as they stay here; the last answer, or the address that leads elsewhere. */
  async go(url: string | URL, init: RequestInit = {}): Promise<Visited> {
    let target = new URL(url);
    let request = init;
    for (let step = 0; step < MOST_REDIRECTS; step += 1) {
      if (target.origin !== this.#home) return { url: target, status: 0, headers: new Headers(), text: '' };
      const response = await fetch(target, {
        ...request,
        redirect: 'manual',
        headers: { accept: 'text/html', ...alone, ...this.#presented(target), ...request.headers },
      });
      this.#keep(target, response.headers.getSetCookie());
      const text = await response.text();
      const location = response.headers.get('location');
      if (location === null) return { url: target, status: response.status, headers: response.headers, text };
      target = new URL(location, target);
      request = {};
    }
    throw new Error('redirected again and again');
  }

  /** Sends the form of a page, with its hidden fields and these. */
  submit(
    page: Visited,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Visited> {
    const body = new URLSearchParams();
    for (const [, name = '', value = ''] of page.text.matchAll(
      /<input type="hidden" name="([^"]*)" value="([^"]*)"/g,
    )) {
      body.set(name, value);
    }
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    return this.go(page.url, { method: 'POST', body, headers: { origin: 'null', ...headers } });
  }

  /** Signs in where that is asked, agrees, and comes back with the address that the client gets. */
  async agree(url: string | URL, who: { readonly name: string; readonly password: string }): Promise<URL> {
    let page = await this.go(url);
    if (isLogin(page)) page = await this.submit(page, { action: 'sign-in', ...who });
    if (page.status !== 0) page = await this.submit(page, { action: 'allow' });
    if (page.status !== 0) throw new Error(`stopped at ${page.url.pathname}: ${page.status} ${page.text}`);
    return page.url;
  }

  #presented(url: URL): Record<string, string> {
    const pairs = [...this.#jar].filter(
      ([, { path }]) => url.pathname === path || url.pathname.startsWith(under(path)),
    );
    if (pairs.length === 0) return {};
    return { cookie: pairs.map(([key, { value }]) => `${key.split(' ')[0]}=${value}`).join('; ') };
  }

  #keep(url: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(/;\s*/);
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      const attribute = (wanted: string) =>
        attributes.map((text) => text.split('=')).find(([key]) => key?.toLowerCase() === wanted)?.[1];
      const path = attribute('path') ?? url.pathname.replace(/[^/]*$/, '');
      const expires = attribute('expires');
      const key = `${name} ${path}`;
      if (expires !== undefined && Date.parse(expires) <= Date.now()) this.#jar.delete(key);
      else this.#jar.set(key, { value, path });
    }
  }
}

export function isLogin(page: Visited): boolean {
  return page.text.includes('type="password"');
}

function under(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}
