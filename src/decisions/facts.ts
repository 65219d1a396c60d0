/** What every protocol tells a decision point about a principal. The words differ, and the facts do not. */
import { type Principal, shownPrincipal } from '../identity/principal.ts';
import { groupsOf } from '../policy/who.ts';
import type { DecisionPointSettings } from './settings.ts';

/** The members of `principal` in a `when`. */
export interface PrincipalFacts {
  readonly kind: Principal['kind'];
  readonly issuer?: string;
  readonly subject?: string;
  readonly clientId?: string;
  readonly key?: string;
  /** Absent for a principal that has all of them. */
  readonly scopes?: readonly string[];
  /** As rules see them: those of our own files, or else of the token. */
  readonly groups: readonly string[];
  /** Only those that the config names: a decision point need not know everything that an issuer says of a person. */
  readonly claims: Readonly<Record<string, unknown>>;
}

export type DescribePrincipal = (principal: Principal) => PrincipalFacts;

export function principalFacts(
  principal: Principal,
  { claims: sent }: Pick<DecisionPointSettings, 'claims'>,
  groupsClaim: string,
): PrincipalFacts {
  const { kind, issuer, subject, clientId, keyName, scopes, claims } = principal;
  const isSent = (name: string) => sent.includes('*') || sent.includes(name);
  return {
    kind,
    ...(issuer !== undefined && { issuer }),
    ...(subject !== undefined && { subject }),
    ...(clientId !== undefined && { clientId }),
    ...(keyName !== undefined && { key: keyName }),
    ...(scopes !== 'all' && { scopes: [...scopes] }),
    groups: groupsOf(principal, groupsClaim),
    claims: Object.fromEntries(Object.entries(claims).filter(([name]) => isSent(name))),
  };
}

/**
 * A subject of its own type for each kind of principal: the subject of a token could have the same text as the name of
 * a key.
 */
export function subjectOf(principal: Principal): { readonly type: string; readonly id: string } {
  const { kind, keyName, subject, clientId } = principal;
  if (kind === 'key') return { type: 'key', id: keyName ?? '' };
  if (subject !== undefined) return { type: 'identity', id: subject };
  return { type: clientId === undefined ? kind : 'client', id: clientId ?? shownPrincipal(principal) };
}
