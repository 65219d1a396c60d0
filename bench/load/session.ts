/** Opens a legacy session as a client does. */
import type { Connection } from './connection.ts';
import { headerOf } from './parser.ts';
import { initializedNotification, initializeRequest } from './requests.ts';
import { Verifier, WrongAnswer } from './verify.ts';

export async function openSession(url: URL, connection: Connection): Promise<string> {
  const session = await introduce(url, connection);
  if (session === undefined) throw new WrongAnswer('no session came of initialize');
  return session;
}

/** Nothing comes of it where the server has no sessions. */
export async function introduce(url: URL, connection: Connection): Promise<string | undefined> {
  const answer = await connection.ask(initializeRequest(url));
  new Verifier('initialize', {}).check(answer);
  const session = headerOf(answer.head, 'mcp-session-id');
  const { status, head } = await connection.ask(initializedNotification(url, session));
  if (status !== 202) throw new WrongAnswer(`notifications/initialized was not accepted:\n${head}`);
  return session;
}
