/** Opens a legacy session as a client does. */
import type { Connection } from './connection.ts';
import { headerOf } from './parser.ts';
import { initializedNotification, initializeRequest } from './requests.ts';
import { Verifier, WrongAnswer } from './verify.ts';

export async function openSession(url: URL, connection: Connection): Promise<string> {
  const answer = await connection.ask(initializeRequest(url));
  new Verifier('initialize', {}).check(answer);
  const session = headerOf(answer.head, 'mcp-session-id');
  if (session === undefined) throw new WrongAnswer(`no session came of initialize:\n${answer.head}`);
  const { status, head } = await connection.ask(initializedNotification(url, session));
  if (status !== 202) throw new WrongAnswer(`notifications/initialized was not accepted:\n${head}`);
  return session;
}
