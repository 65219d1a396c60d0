/** The cookies that tie a browser to a flow: signed, unreadable for scripts, and never sent along with a foreign form. */

/** What a browser is known by before anybody is signed in: the form for that is good in this browser alone. */
export function formCookie(issuer: URL): string {
  return issuer.protocol === 'https:' ? '__Host-bascule_form' : `bascule_${issuer.port || '80'}_form`;
}

/** RFC 6265bis, 4.1.3: `__Host-` where the cookie is for the whole site; the others are for one flow's path alone. */
export function cookiesFor(issuer: string, key: string): object {
  const { protocol, port } = new URL(issuer);
  const isSecure = protocol === 'https:';
  // Cookies know no ports: two gateways on one machine would take each other's.
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
