/** A browser without a network, consents without a protocol, and a clock that the test moves. */

import { randomBytes } from 'node:crypto';
import { Failure } from '../../../../src/errors/failure.ts';
import { MemoryAttempts } from '../../../../src/exchange/memory-attempts.ts';
import type { ConsentPrincipal } from '../../../../src/oauth/client/consent-store.ts';
import { connectPages } from '../../../../src/oauth/client/pages/create.ts';
import type { ConnectPorts, PendingConsent, PendingConsents } from '../../../../src/oauth/client/pages/ports.ts';
import { createSeal } from '../../../../src/store/seal.ts';
import type { PageSet } from '../../../../src/web/mount.ts';
import type { PageRequest, PageResponse } from '../../../../src/web/request.ts';

export const people = {
  local: { key: 'local', kind: 'local' },
  key: { key: '["key","laptop"]', kind: 'key', keyName: 'laptop' },
  own: { key: '["token","https://gate.example","ann"]', kind: 'token', issuer: 'https://gate.example', subject: 'ann' },
  foreign: {
    key: '["token","https://id.example","4711"]',
    kind: 'token',
    issuer: 'https://id.example',
    subject: '4711',
  },
  program: { key: '["client","https://id.example","robot"]', kind: 'token', issuer: 'https://id.example' },
} as const satisfies Record<string, ConsentPrincipal>;

export const keys = { laptop: 'bsk_laptop', other: 'bsk_other' } as const;

export function consentFor(principal: ConsentPrincipal, more: Partial<PendingConsent> = {}): PendingConsent {
  return {
    backend: 'tickets',
    url: 'https://tickets.example/mcp',
    issuer: 'https://login.tickets.example',
    scopes: ['tickets:read', 'tickets:write'],
    principal,
    shared: false,
    ...more,
  };
}

/** A failure whose row is the protocol half's. */
export function failureOf(reason: string, message = 'It went wrong.'): Failure {
  return Object.assign(new Failure('internal_error', { message }), { reason });
}

export class TestConsents implements PendingConsents {
  readonly pending = new Map<string, PendingConsent>();
  readonly completed: { readonly id: string; readonly parameters: string }[] = [];
  failsWith: Error | undefined;
  cannotLeave: Error | undefined;
  /** As with pushed requests. */
  hidesState = false;

  async find(id: string): Promise<PendingConsent | undefined> {
    return this.pending.get(id);
  }

  async authorizationUrl(id: string): Promise<string> {
    const consent = this.pending.get(id);
    if (this.cannotLeave !== undefined) throw this.cannotLeave;
    if (consent === undefined) throw failureOf('consent_unknown');
    return `${consent.issuer}/authorize?${this.hidesState ? 'request_uri=urn:x' : `state=${this.stateOf(id)}`}`;
  }

  async complete(id: string, parameters: URLSearchParams): Promise<void> {
    if (this.failsWith !== undefined) throw this.failsWith;
    if (parameters.get('state') !== this.stateOf(id)) throw failureOf('consent_invalid');
    if (!this.pending.delete(id)) throw failureOf('consent_unknown');
    this.completed.push({ id, parameters: parameters.toString() });
  }

  stateOf(id: string): string {
    return `${id}.s3cret`;
  }
}

export interface Bench {
  readonly consents: TestConsents;
  readonly pages: PageSet;
  readonly warnings: unknown[];
  move(ms: number): void;
  browser(from?: Partial<Sender>): TestBrowser;
}

export function bench(ports: Partial<ConnectPorts> = {}): Bench {
  const consents = new TestConsents();
  const warnings: unknown[] = [];
  let now = Date.UTC(2026, 6, 28);
  const { publicUrl = 'https://gate.example' } = ports;
  const owners = new Map<string, string>([
    [keys.laptop, people.key.key],
    [keys.other, '["key","other"]'],
  ]);
  const pages = connectPages({
    publicUrl,
    consents,
    people: { accounts: async () => [] },
    seal: createSeal('test'),
    keyOf: (secret) => owners.get(secret),
    attempts: new MemoryAttempts(() => now),
    now: () => now,
    random: () => randomBytes(32).toString('base64url'),
    refused: () => undefined,
    warn: (text, facts) => warnings.push({ text, facts }),
    ...ports,
  });
  return {
    consents,
    pages,
    warnings,
    move: (ms) => {
      now += ms;
    },
    browser: (from = {}) =>
      new TestBrowser(pages, { host: new URL(publicUrl).host, remoteAddress: '203.0.113.9', ...from }),
  };
}

export interface Sender {
  readonly host: string;
  readonly remoteAddress: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export class TestBrowser {
  readonly cookies = new Map<string, string>();
  /** As they were set, with their attributes. */
  readonly setCookies: string[] = [];
  readonly #pages: PageSet;
  readonly #from: Sender;

  constructor(pages: PageSet, from: Sender) {
    this.#pages = pages;
    this.#from = from;
  }

  get(address: string, headers: Readonly<Record<string, string>> = {}): Promise<PageResponse> {
    return this.send({ method: 'GET', address, headers });
  }

  /** Opens the page and sends its form, with these fields filled in. */
  async submit(address: string, fields: Readonly<Record<string, string>> = {}): Promise<PageResponse> {
    const token = tokenIn(await this.get(address));
    return this.post(address, { token, ...fields });
  }

  post(address: string, fields: Readonly<Record<string, string>>): Promise<PageResponse> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };
    return this.send({ method: 'POST', address, headers, body: new URLSearchParams(fields).toString() });
  }

  async send({ method, address, headers = {}, body = '' }: Sent): Promise<PageResponse> {
    const [path = '', query = ''] = address.split('?', 2);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const request: PageRequest = {
      method,
      path,
      query: new URLSearchParams(query),
      headers: { host: this.#from.host, ...(cookie === '' ? {} : { cookie }), ...this.#from.headers, ...headers },
      body: Buffer.from(body),
      remoteAddress: this.#from.remoteAddress,
      clientAddress: this.#from.remoteAddress,
    };
    const answer = await this.#pages.answer(request);
    for (const set of [answer.headers['set-cookie'] ?? []].flat()) this.#keep(set);
    return answer;
  }

  #keep(set: string): void {
    this.setCookies.push(set);
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
    if (set.includes('Max-Age=0')) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

interface Sent {
  readonly method: string;
  readonly address: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export function titleOf({ body }: PageResponse): string | undefined {
  return /<h1>(.*?)<\/h1>/.exec(body)?.[1];
}

/** Of the page's form; empty where it has none. */
export function tokenIn({ body }: PageResponse): string {
  return /name="token" value="([^"]*)"/.exec(body)?.[1] ?? '';
}
