/** What every protocol tells a decision point about a request. */
import { type Principal, shownPrincipal } from '../identity/principal.ts';
import { withoutSecrets } from '../observe/audit-redact.ts';
import { type AuthorizationRequest, argumentsOf } from '../policy/authorization-request.ts';
import { DecisionFault } from './fault.ts';
import type { DecisionPointSettings } from './settings.ts';

/** Only the claims that the config names: a decision point need not know everything that an issuer says of a person. */
export function claimsFor({ claims }: Principal, { claims: sent }: Pick<DecisionPointSettings, 'claims'>): object {
  const isSent = (name: string) => sent.includes('*') || sent.includes(name);
  return Object.fromEntries(Object.entries(claims).filter(([name]) => isSent(name)));
}

/** Undefined where the config does not say that arguments are sent, or there are none. */
export function argumentsFor(
  request: AuthorizationRequest,
  settings: Pick<DecisionPointSettings, 'arguments'>,
): unknown {
  return settings.arguments ? shownArguments(request) : undefined;
}

/** Without the usual secrets. Text stands for arguments with too many values, which are not judged. */
export function shownArguments(request: AuthorizationRequest): unknown {
  const given = argumentsOf(request);
  if (typeof given === 'string') throw new DecisionFault('question_too_large');
  return given === undefined ? undefined : withoutSecrets(given);
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
