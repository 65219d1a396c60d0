/**
 * The cookies that tie a browser to a flow: signed, unreadable for scripts, and never sent along with a foreign form.
 */
import type { Configuration } from 'oidc-provider';

type CookieOptions = NonNullable<Configuration['cookies']>;

/** Identifies a browser before sign-in. A sign-in form is valid only in the browser that it was shown in. */
export function formCookie(issuer: URL): string {
  return issuer.protocol === 'https:' ? '__Host-bascule_form' : `bascule_${issuer.port || '80'}_form`;
}

/**
 * RFC 6265bis, 4.1.3: `__Host-` for the cookie of the whole site. The other cookies are limited to the path of one
 * flow.
 */
export function cookiesFor(issuer: string, key: string): CookieOptions {
  const { protocol, port } = new URL(issuer);
  const isSecure = protocol === 'https:';
  // Cookies ignore ports: two gateways on one machine would overwrite each other's.
  const name = isSecure ? 'bascule' : `bascule_${port || '80'}`;
  const options = { httpOnly: true, sameSite: 'lax', signed: true, secure: isSecure } as const;
  return {
    keys: [key],
    names: {
      session: `${isSecure ? '__Host-' : ''}${name}_session`,
      interaction: `${isSecure ? '__Secure-' : ''}${name}_interaction`,
      resume: `${isSecure ? '__Secure-' : ''}${name}_resume`,
    },
    long: { ...options, path: '/' },
    short: options,
  };
}
