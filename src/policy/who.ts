/** Whether a rule is about a principal. */
import { claimAt } from '../identity/claim-at.ts';
import type { Principal } from '../identity/principal.ts';
import { NameSet } from './names.ts';
import type { ClaimValue, Who } from './rules.ts';

export type IsMeant = (principal: Principal) => boolean;

export function compileWho(who: Who, groupsClaim: string): IsMeant {
  const tests: IsMeant[] = [];
  if (who.principals !== undefined) tests.push(byIdentity(who.principals));
  if (who.issuers !== undefined) tests.push(oneOf(who.issuers, ({ issuer }) => asList(issuer)));
  if (who.keys !== undefined) tests.push(oneOf(who.keys, ({ keyName }) => asList(keyName)));
  if (who.groups !== undefined) tests.push(oneOf(who.groups, (principal) => groupsOf(principal, groupsClaim)));
  if (who.scopes !== undefined) tests.push(byScope(who.scopes));
  for (const [name, values] of Object.entries(who.claims ?? {})) tests.push(byClaim(name, values));
  return (principal) => tests.every((test) => test(principal));
}

function asList(text: string | undefined): readonly string[] {
  return text === undefined ? [] : [text];
}

function oneOf(patterns: readonly string[], textsOf: (principal: Principal) => readonly string[]): IsMeant {
  const names = new NameSet(patterns, 'name');
  return (principal) => textsOf(principal).some((text) => names.has(text) === 'yes');
}

/** Each kind of principal has its own form, so that no subject can be taken for a key's name. */
function byIdentity(entries: readonly string[]): IsMeant {
  if (entries.includes('*')) return () => true;
  const after = (prefix: string) =>
    new NameSet(
      entries
        .filter((entry) => entry.startsWith(prefix) && entry !== prefix)
        .map((entry) => entry.slice(prefix.length)),
      'name',
    );
  const keys = after('key:');
  const clients = after('client:');
  const subjects = new NameSet(
    entries.filter((entry) => entry !== 'local' && !entry.startsWith('key:') && !entry.startsWith('client:')),
    'name',
  );
  return ({ kind, keyName, subject, clientId }) => {
    if (kind === 'local') return entries.includes('local');
    if (kind === 'key') return keyName !== undefined && keys.has(keyName) === 'yes';
    if (subject !== undefined && subjects.has(subject) === 'yes') return true;
    return clientId !== undefined && clients.has(clientId) === 'yes';
  };
}

function byScope(patterns: readonly string[]): IsMeant {
  const names = new NameSet(patterns, 'name');
  return ({ scopes }) => {
    if (scopes === 'all') return true;
    for (const scope of scopes) if (names.has(scope) === 'yes') return true;
    return false;
  };
}

function byClaim(name: string, values: readonly ClaimValue[]): IsMeant {
  const texts = new NameSet(
    values.filter((value) => typeof value === 'string'),
    'name',
  );
  const others: ReadonlySet<unknown> = new Set(values.filter((value) => typeof value !== 'string'));
  const isOne = (value: unknown) => (typeof value === 'string' ? texts.has(value) === 'yes' : others.has(value));
  return ({ claims }) => {
    const value = claimAt(claims, name);
    return Array.isArray(value) ? value.some(isOne) : isOne(value);
  };
}

/** Those of our own files, or else of the token. */
export function groupsOf({ groups, claims }: Principal, groupsClaim: string): readonly string[] {
  if (groups !== undefined) return groups;
  const value = claimAt(claims, groupsClaim);
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  return items.filter((item) => typeof item === 'string');
}
