/** The known scopes, their descriptions for people, and the default for clients that request none of them. */
import { basicScope, type Resource } from './settings.ts';

export class ScopeBook {
  /** All scopes that an access token can have. */
  readonly all: readonly string[];
  /** Those, and the standard scopes below. */
  readonly requestable: readonly string[];
  readonly #words: Readonly<Record<string, string>>;

  constructor(resources: readonly Resource[], words: Readonly<Record<string, string>>) {
    this.#words = words;
    const known = resources.flatMap(({ scopes, required }) => [...required, ...scopes]);
    this.all = [...new Set([basicScope, ...known, ...Object.keys(words)])];
    this.requestable = [...standard, ...this.all];
  }

  /**
   * RFC 6749, 3.3: unknown scopes are ignored. If none is left, the default is what every use of the resource requires.
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

/** Between client and authorization server, never in an access token. */
const standard: ReadonlySet<string> = new Set(['openid', 'offline_access']);

const usualWords: ReadonlyMap<string, string> = new Map([
  [basicScope, 'Use the tools, resources and prompts behind this gateway'],
  ['openid', 'See your user name'],
  ['offline_access', 'Stay connected while you are away'],
]);
