/**
 * Ends one session, or everything that is open for a person. Their clients get an error that says so, and may connect
 * again while their credentials are good.
 */
import { Failure } from '../errors/failure.ts';
import { type Principal, shownPrincipal } from '../identity/principal.ts';
import { sessionTag } from '../observe/audit.ts';
import type { Session } from '../session/session.ts';
import { isObject } from '../wire/values.ts';
import { shownId } from './people.ts';
import { type ConsolePorts, ConsoleRefusal, type Operator } from './ports.ts';

interface Revoked {
  readonly ended: number;
  /** Subscriptions, and connections without a session. */
  readonly streams: number;
}

/** Resolves when no process can continue the sessions. */
export async function revoke(ports: ConsolePorts, body: unknown, operator: Operator): Promise<Revoked> {
  const { session, person } = isObject(body) ? body : {};
  if (typeof session === 'string') return revokeSession(ports, session, operator);
  if (typeof person === 'string') return revokePerson(ports, person, operator);
  throw new ConsoleRefusal(400, 'invalid_revoke', 'Send `session`, or `person` for all that is open for a person');
}

async function revokeSession(ports: ConsolePorts, id: string, operator: Operator): Promise<Revoked> {
  const session = ports.sessions.all().find((one) => shownId(ports.digest, one.id) === id);
  if (session === undefined)
    throw new ConsoleRefusal(404, 'unknown_session', 'There is no such session: it may have ended');
  record(ports, operator, shownPrincipal(session.principal), sessionTag(session.id));
  await end(ports, session, operator);
  return { ended: 1, streams: 0 };
}

async function revokePerson(ports: ConsolePorts, id: string, operator: Operator): Promise<Revoked> {
  const { sessions, gateway, recorder, digest, warn } = ports;
  const isMeant = ({ key, holder }: Principal): boolean =>
    shownId(digest, key) === id || (holder !== undefined && isMeant(holder));
  const meant = sessions.all().filter(({ principal }) => isMeant(principal));
  const known = recorder.people.all().find(({ principal }) => isMeant(principal))?.principal ?? meant[0]?.principal;
  const who = known === undefined ? id : shownPrincipal(known);
  record(ports, operator, who);
  const ending = meant.map((session) => end(ports, session, operator));
  const streams = gateway.revokeStreams(isMeant, endedBy('An operator has ended the stream'));
  if (streams > 0)
    warn('an operator has ended streams', { operator: shownPrincipal(operator.principal), of: who, streams });
  await Promise.all(ending);
  await revokeUnknown(ports, id, meant);
  return { ended: meant.length, streams };
}

function end({ sessions, warn }: ConsolePorts, session: Session, { principal }: Operator): Promise<void> {
  const ending = sessions.end(session, endedBy('An operator has ended the session'));
  const facts = {
    operator: shownPrincipal(principal),
    of: shownPrincipal(session.principal),
    endpoint: session.endpoint.path,
  };
  warn('an operator has ended a session', facts);
  return ending;
}

function record(
  { currentGeneration }: ConsolePorts,
  { principal, address }: Operator,
  name: string,
  session?: string,
): void {
  const act = { principal, address, endpoint: '/console', action: 'revoke', name, session } as const;
  currentGeneration.now.authorizer.trail.acted(act);
}

function endedBy(message: string): Failure {
  return new Failure('session_ended', { message });
}

/** The person may have sessions that were opened before a restart, and were not used since. */
async function revokeUnknown(ports: ConsolePorts, person: string, known: readonly Session[]): Promise<void> {
  const { sessions, recorder, digest, timeOfDay } = ports;
  const seen = [...known, ...recorder.people.all()];
  const of = seen.find(({ principal }) => shownId(digest, principal.key) === person)?.principal;
  if (of === undefined) return;
  try {
    await sessions.revokeUnknown(of, timeOfDay());
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown';
    const text = `Sessions from before a restart may go on: their end cannot be stored: ${why}`;
    throw new ConsoleRefusal(503, 'not_stored', text);
  }
}
