/** Reads cookies strictly, and sets them so that only this host over this scheme gets them back. */

/**
 * We set one cookie per name. If several come back, a neighbouring host set the others, and we cannot tell them apart:
 * none counts.
 */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '').split(';').flatMap((pair) => {
    const cut = pair.indexOf('=');
    return cut !== -1 && pair.slice(0, cut).trim() === name ? [pair.slice(cut + 1).trim()] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}

export class CookieJar {
  readonly #secure: boolean;
  readonly #sameSite: 'Lax' | 'Strict';

  /**
   * Lax by default: people reach most pages by links and redirects from other sites. With Strict the browser does not
   * send the cookie then.
   */
  constructor(publicUrl: string, sameSite: 'Lax' | 'Strict' = 'Lax') {
    this.#secure = publicUrl.startsWith('https:');
    this.#sameSite = sameSite;
  }

  /** RFC 6265bis, 4.1.3.2: only this host can set a name with this prefix, not a neighbour under the same domain. */
  nameOf(name: string): string {
    return this.#secure ? `__Host-${name}` : name;
  }

  read(header: string | undefined, name: string): string | undefined {
    return readCookie(header, this.nameOf(name));
  }

  /** Without `maxAgeMs` the cookie lives until the browser closes. */
  set(name: string, value: string, maxAgeMs?: number): string {
    const age = maxAgeMs === undefined ? '' : `; Max-Age=${Math.floor(maxAgeMs / 1000)}`;
    return `${this.nameOf(name)}=${value}; Path=/; HttpOnly; SameSite=${this.#sameSite}${this.#secure ? '; Secure' : ''}${age}`;
  }

  drop(name: string): string {
    return this.set(name, '', 0);
  }
}
