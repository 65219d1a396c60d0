/** Legacy sessions that do nothing but hold a GET stream open. */
import { Connection, type IdleStream, openIdleStream } from './connection.ts';
import { streamRequest } from './requests.ts';
import { openSession } from './session.ts';

/** Connections that work at once. */
const OPENERS = 8;

export interface IdleSession {
  readonly id: string;
  readonly stream: IdleStream;
}

export function openSessions(url: URL, count: number, opened: IdleSession[]): Promise<void> {
  return overConnections(url, count, async (connection) => {
    const id = await openSession(url, connection);
    opened.push({ id, stream: await openIdleStream(url, streamRequest(url, id)) });
  });
}

/** Does something so many times, over a few connections. */
export async function overConnections(
  url: URL,
  times: number,
  work: (connection: Connection, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: OPENERS }, async () => {
      const connection = await Connection.open(url);
      try {
        while (next < times) await work(connection, next++);
      } finally {
        connection.close();
      }
    }),
  );
}
