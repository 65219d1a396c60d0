/** Cookies: read with care, and set so that only this host over this scheme gets them back. */

/** We set one under a name. Where several come back, a neighbour set the others, and nothing tells them apart: none counts. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? '').split(';').flatMap((pair) => {
    const cut = pair.indexOf('=');
    return cut !== -1 && pair.slice(0, cut).trim() === name ? [pair.slice(cut + 1).trim()] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}

export class CookieJar {
  readonly #secure: boolean;

  constructor(publicUrl: string) {
    this.#secure = publicUrl.startsWith('https:');
  }

  /** RFC 6265bis, 4.1.3.2: a name with this prefix can be set by this very host alone, not by a neighbour under the same domain. */
  nameOf(name: string): string {
    return this.#secure ? `__Host-${name}` : name;
  }

  read(header: string | undefined, name: string): string | undefined {
    return readCookie(header, this.nameOf(name));
  }

  /** Lax, not Strict: people come to these pages by links and redirects from elsewhere. No age: until the browser closes. */
  set(name: string, value: string, maxAgeMs?: number): string {
    const age = maxAgeMs === undefined ? '' : `; Max-Age=${Math.floor(maxAgeMs / 1000)}`;
    return `${this.nameOf(name)}=${value}; Path=/; HttpOnly; SameSite=Lax${this.#secure ? '; Secure' : ''}${age}`;
  }

  drop(name: string): string {
    return this.set(name, '', 0);
  }
}
