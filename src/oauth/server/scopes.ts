/** Which scopes there are, what they mean to a person, and what is meant by a client that asks for none of them. */
import { basicScope, type Resource } from './settings.ts';

export class ScopeBook {
  /** All that a token of ours can have. */
  readonly all: readonly string[];
  /** Those and what is between client and server. */
  readonly requestable: readonly string[];
  readonly #words: Readonly<Record<string, string>>;

  constructor(resources: readonly Resource[], words: Readonly<Record<string, string>>) {
    this.#words = words;
    const known = resources.flatMap(({ scopes, required }) => [...required, ...scopes]);
    this.all = [...new Set([basicScope, ...known, ...Object.keys(words)])];
    this.requestable = [...standard, ...this.all];
  }

  /**
   * RFC 6749, 3.3: what is unknown is ignored. Where nothing is left, or nothing was asked for, it is what every use of
   * the resource needs.
   */
  asked(scope: string | undefined, resource: Resource | undefined): string {
    const known = (scope ?? '').split(' ').filter((name) => this.all.includes(name) || standard.has(name));
    if (known.some((name) => this.all.includes(name))) return [...new Set(known)].join(' ');
    const usual = resource === undefined || resource.required.length === 0 ? [basicScope] : resource.required;
    return [...new Set([...usual, ...known])].join(' ');
  }

  inWords(scope: string): string {
    const own = Object.hasOwn(this.#words, scope) ? this.#words[scope] : undefined;
    return own ?? usualWords.get(scope) ?? scope;
  }
}

/** Between client and server, never in an access token. */
const standard: ReadonlySet<string> = new Set(['openid', 'offline_access']);

const usualWords: ReadonlyMap<string, string> = new Map([
  [basicScope, 'Use the tools, resources and prompts behind this gateway'],
  ['openid', 'Know your user name here'],
  ['offline_access', 'Stay connected while you are away'],
]);
