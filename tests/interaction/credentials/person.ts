/** A user at a browser with a link: authenticates, consents, and is redirected back. */
import { Browser, type Visited } from '../authserver/browser.ts';
import type { GuardedBackend } from './guarded-backend.ts';

export class Person {
  readonly name: string;
  readonly browser: Browser;
  /** Absent if the gateway has no authentication. */
  readonly key: string | undefined;

  constructor(name: string, origin: string, key?: string) {
    this.name = name;
    this.key = key;
    this.browser = new Browser(origin);
  }

  /** As far as the authorization server's page. */
  async leave(link: string): Promise<Visited> {
    const page = await this.browser.go(link);
    if (page.status !== 200) return page;
    return this.browser.submit(page, this.key === undefined ? {} : { key: this.key });
  }

  /** The whole way; the page at its end. `said` changes what the authorization server sends back. */
  async agree(
    link: string,
    backend: Pick<GuardedBackend, 'came'>,
    said: (parameters: URLSearchParams) => void = () => undefined,
  ): Promise<Visited> {
    const left = await this.leave(link);
    // Still at the gateway: it did not let them go on.
    if (left.status !== 0) return left;
    const { headers } = await fetch(left.url, { redirect: 'manual' });
    const back = new URL(headers.get('location') ?? '');
    backend.came(this.name, back.searchParams.get('code') ?? '');
    said(back.searchParams);
    return this.browser.go(back);
  }

  refuse(link: string, backend: Pick<GuardedBackend, 'came'>): Promise<Visited> {
    return this.agree(link, backend, (parameters) => {
      parameters.delete('code');
      parameters.set('error', 'access_denied');
    });
  }
}
