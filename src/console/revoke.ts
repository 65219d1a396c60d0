/** Ends sessions. Their clients get an error that says so, and may open new ones while their credentials are good. */
import { Failure } from '../errors/failure.ts';
import type { Session } from '../session/session.ts';
import { isObject } from '../wire/values.ts';
import { shownWho } from './message-facts.ts';
import { shownId } from './people.ts';
import { type ConsolePorts, ConsoleRefusal, type Operator } from './ports.ts';

/** Resolves when no process can continue the sessions. */
export async function revoke(ports: ConsolePorts, body: unknown, { principal }: Operator): Promise<object> {
  const { sessions, digest, warn } = ports;
  const { session, person } = isObject(body) ? body : {};
  const isMeant = (one: Session) =>
    typeof session === 'string' ? shownId(digest, one.id) === session : shownId(digest, one.principal.key) === person;
  if (typeof session !== 'string' && typeof person !== 'string')
    throw new ConsoleRefusal(400, 'invalid_revoke', 'Send `session`, or `person` for all sessions of a person');
  const meant = sessions.all().filter(isMeant);
  if (typeof session === 'string' && meant.length === 0)
    throw new ConsoleRefusal(404, 'unknown_session', 'There is no such session: it may have ended');
  const failure = new Failure('session_ended', { message: 'An operator has ended the session' });
  const ending = meant.map((one) => sessions.end(one, failure));
  for (const { endpoint, principal: of } of meant)
    warn('an operator has ended a session', {
      operator: shownWho(principal),
      of: shownWho(of),
      endpoint: endpoint.path,
    });
  await Promise.all(ending);
  if (typeof person === 'string') await revokeUnknown(ports, person, meant);
  return { ended: meant.length };
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
