/** Ends sessions. Their clients get an error that says so, and may open new ones while their credentials are good. */
import { Failure } from '../errors/failure.ts';
import type { Session } from '../session/session.ts';
import { isObject } from '../wire/values.ts';
import { shownWho } from './message-facts.ts';
import { shownId } from './people.ts';
import { type ConsolePorts, ConsoleRefusal, type Operator } from './ports.ts';

export function revoke(ports: ConsolePorts, body: unknown, { principal }: Operator): object {
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
  for (const one of meant) {
    void sessions.end(one, failure);
    const endpoint = one.endpoint.path;
    warn('an operator has ended a session', { operator: shownWho(principal), of: shownWho(one.principal), endpoint });
  }
  return { ended: meant.length };
}
