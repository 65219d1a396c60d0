/** People and their sessions: who came, with which clients and revisions, and what they are connected to. */
import { type Principal, shownPrincipal } from '../identity/principal.ts';
import { clientName } from '../observe/client-names.ts';
import type { Session } from '../session/session.ts';
import { era } from '../wire/revisions.ts';
import { type ConsolePorts, ConsoleRefusal, type Operator } from './ports.ts';

/** Those that came last. */
const PEOPLE = 200;
const SESSIONS = 500;

export function people(ports: ConsolePorts): object {
  const open = ports.sessions.all();
  const seen = [...ports.recorder.people.all()].sort((a, b) => b.lastAt - a.lastAt);
  return {
    now: ports.timeOfDay(),
    total: seen.length,
    people: seen.slice(0, PEOPLE).map(({ principal, calls, lastAt, uses }) => ({
      ...personFacts(ports, principal),
      calls,
      lastAt,
      sessions: open.filter((session) => session.principal.key === principal.key).length,
      uses: [...uses.values()],
    })),
    sessions: {
      total: open.length,
      shown: open
        .slice(-SESSIONS)
        .reverse()
        .map((session) => sessionFacts(ports, session)),
    },
  };
}

/** One person with their accounts at backends. */
export async function person(ports: ConsolePorts, principal: Principal): Promise<object> {
  const seen = ports.recorder.people.get(principal.key);
  const accounts = await ports.accountsOf(principal);
  return {
    now: ports.timeOfDay(),
    ...personFacts(ports, principal),
    calls: seen?.calls ?? 0,
    lastAt: seen?.lastAt,
    uses: [...(seen?.uses.values() ?? [])],
    // The id of a consent belongs to its person alone.
    accounts: accounts.map(({ pending, ...account }) => ({ ...account, ...(pending && { asks: pending.scopes }) })),
  };
}

export function personFacts({ digest }: Pick<ConsolePorts, 'digest'>, principal: Principal) {
  const { key, kind, issuer, clientId, scopes } = principal;
  return {
    id: shownId(digest, key),
    who: shownPrincipal(principal),
    kind,
    issuer,
    client: clientId,
    scopes: scopes === 'all' ? 'all' : [...scopes],
  };
}

/** Keys of principals and ids of sessions are never shown: those who know a session's id could use it. */
export function shownId(digest: (text: string) => string, secret: string): string {
  return digest(`console\0${secret}`).slice(0, 16);
}

function sessionFacts(ports: ConsolePorts, session: Session): object {
  const { clock, timeOfDay, digest } = ports;
  const { id, principal, endpoint, client, openedAt, inflight, upstreams } = session;
  const wall = (time: number) => timeOfDay() - (clock.now() - time);
  return {
    id: shownId(digest, id),
    who: shownPrincipal(principal),
    person: shownId(digest, principal.key),
    endpoint: endpoint.path,
    client: clientName(client.info),
    revision: client.revision,
    era: era(client.revision),
    openedAt: wall(openedAt),
    lastAt: wall(session.idleSince()),
    inFlight: inflight.size,
    backends: [...upstreams].map(([backend, { opened }]) => ({ backend, state: opened ? 'open' : 'opening' })),
  };
}

/** The principal that `as` names, by id or by name; the operator without it. */
export function principalFor(ports: ConsolePorts, as: string | undefined, { principal }: Operator): Principal {
  if (as === undefined || as === '' || as === shownPrincipal(principal)) return principal;
  const found = knownPrincipals(ports).filter(
    (one) => shownId(ports.digest, one.key) === as || shownPrincipal(one) === as,
  );
  if (found.length > 1)
    throw new ConsoleRefusal(400, 'ambiguous_person', `${found.length} people are called this: use the id of one`);
  if (found[0] === undefined) throw unknownPerson(ports);
  return found[0];
}

/**
 * Principals whose scopes and groups are known: of requests since the start, where these are recorded, of open
 * sessions, and of access keys. What a token of any other person would say is not known.
 */
function knownPrincipals({ recorder, sessions, currentGeneration }: ConsolePorts): readonly Principal[] {
  const known = new Map<string, Principal>();
  const { keyHolders } = currentGeneration.now.authenticator;
  const bySession = sessions.all().map(({ principal }) => principal);
  const seen = recorder.people.all().map(({ principal }) => principal);
  for (const principal of [...keyHolders, ...bySession, ...seen]) known.set(principal.key, principal);
  return [...known.values()];
}

function unknownPerson({ recorder }: ConsolePorts): ConsoleRefusal {
  if (recorder.isOn) {
    const text =
      'No request of this person has come since the gateway started, and no access key has this name (`key:<name>`)';
    return new ConsoleRefusal(404, 'unknown_person', text);
  }
  const text =
    'No access key has this name (`key:<name>`), and no open session belongs to this person. ' +
    'Modern clients have no sessions: ' +
    'with `console` in the config, everyone who sends a request after the start is known';
  return new ConsoleRefusal(404, 'unknown_person', text);
}
