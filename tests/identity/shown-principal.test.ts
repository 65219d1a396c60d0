/** The log, the console and rules name a principal alike. */
import { expect, it } from 'vitest';
import { keyPrincipal, localPrincipal, shownPrincipal, tokenPrincipal } from '../../src/identity/principal.ts';

const issuer = 'https://id.example';

it.each([
  { name: 'the local user', principal: localPrincipal(), shown: 'local' },
  { name: 'a key', principal: keyPrincipal({ id: '1', name: 'laptop', scopes: [] }), shown: 'key:laptop' },
  { name: 'a person', principal: tokenPrincipal({ issuer, claims: { sub: 'ann', client_id: 'app' } }), shown: 'ann' },
  { name: 'a program', principal: tokenPrincipal({ issuer, claims: { client_id: 'robot' } }), shown: 'client:robot' },
])('$name is shown as rules name it', ({ principal, shown }) => {
  expect(principal && shownPrincipal(principal)).toBe(shown);
});
