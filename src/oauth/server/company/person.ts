/** What an ID token says about a person, as far as the gateway uses it. */
import { claimAt } from '../../../identity/claim-at.ts';
import type { Claims } from '../../../identity/principal.ts';
import { SignInError } from '../../openid/sign-in-error.ts';
import type { CompanySettings } from './settings.ts';

/** Groups are part of every access token, and a token has to fit into a header. */
const MOST_GROUPS = 200;
const GROUPS_CHARS = 6_000;
const SHOWN_CHARS = 100;
/** OpenID Core, 2: at most 255 ASCII characters. */
const subject = /^[\x20-\x7e]{1,255}$/;

export interface AdmittedPerson {
  /** Unique over all providers: issuer and subject. An email address can be given to somebody else. */
  readonly name: string;
  readonly shown: string;
  readonly groups: readonly string[];
}

/** Throws a SignInError where the person is not admitted. */
export function personIn(claims: Claims, settings: CompanySettings): AdmittedPerson {
  const { sub, iss } = claims;
  if (typeof sub !== 'string' || !subject.test(sub)) throw new SignInError('the subject of the ID token is not usable');
  for (const [claim, values] of Object.entries(settings.require)) {
    const given: readonly unknown[] = [claimAt(claims, claim)].flat();
    if (!given.some((value) => isPlain(value) && values.includes(String(value))))
      throw new SignInError(`the ID token has no accepted value of the claim ${claim}`, { refused: true });
  }
  const { groupsClaim } = settings;
  const groups = [claimAt(claims, groupsClaim)].flat().filter((group) => typeof group === 'string');
  // A shortened list could leave out a group that a rule denies.
  if (isElsewhere(claims, groupsClaim) || groups.length > MOST_GROUPS || groups.join('').length > GROUPS_CHARS)
    throw new SignInError(`the claim ${groupsClaim} has too many groups: let the provider send fewer`, {
      refused: true,
    });
  const shown = [claims.name, claims.preferred_username, sub].find((text) => typeof text === 'string' && text !== '');
  return { name: `${iss}#${sub}`, shown: String(shown).slice(0, SHOWN_CHARS), groups };
}

function isPlain(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** OpenID Core, 5.6.2: the token only says where the claim is. Entra ID does so where there are too many groups. */
function isElsewhere({ _claim_names: names }: Claims, claim: string): boolean {
  if (typeof names !== 'object' || names === null) return false;
  return [claim, ...claim.split('.', 1)].some((name) => Object.hasOwn(names, name));
}
