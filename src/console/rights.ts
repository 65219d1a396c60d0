/** Which rights a principal has, by the config of the moment. */

import type { Config } from '../config/config.ts';
import { type ConsoleRight, consoleRights, hasIdentity } from '../config/console.ts';
import type { Principal } from '../identity/principal.ts';
import { compileWho } from '../policy/who.ts';

/** Of the person at this machine, who could change the config as well. */
export const everyRight: ReadonlySet<ConsoleRight> = new Set(consoleRights);

/** Without identity there is no sign-in: the console is for the person at this machine. */
export function isPersonalConsole({ identity, authServer }: Config): boolean {
  return !hasIdentity(identity, authServer !== undefined);
}

/** Whether the policy asks people: then everybody who can sign in has questions to answer, at least about their own. */
export function isAsking({ policy }: Config): boolean {
  return [...(policy?.rules ?? []), ...(policy?.decisions ?? [])].some(({ approval }) => approval !== undefined);
}

/** Whether a principal may open the console at all. */
export function mayEnter(config: Config, rights: ReadonlySet<ConsoleRight>): boolean {
  return rights.has('view') || isAsking(config);
}

/** Without the right to view, a principal has no other right, except to approve what others ask for. */
export function rightsOf({ operators, policy }: Config, principal: Principal): ReadonlySet<ConsoleRight> {
  const has = (right: ConsoleRight): boolean => {
    const who = operators[right];
    return who !== undefined && compileWho(who, policy?.groupsClaim ?? 'groups')(principal);
  };
  const possible: readonly ConsoleRight[] = has('view') ? consoleRights : ['approve'];
  return new Set(possible.filter(has));
}
