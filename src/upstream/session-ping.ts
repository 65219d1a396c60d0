/**
 * Whether a backend still knows a session. It should answer 404 where it does not (2025-11-25,
 * basic/transports#session-management). Many servers answer 400 (Python SDK 1.x; those that follow the examples of the
 * TypeScript SDK 1.x), which can also mean a bad request. So where a request got 400, a ping finds out.
 */
import { requestBytes } from '../wire/compose.ts';
import type { TimerClock } from './deadlines.ts';
import { keyOf } from './envelope.ts';
import type { LegacyUpstreamSession } from './legacy.ts';
import { ProbeRequest } from './question.ts';

/** A ping is answered at once. */
const PING_MS = 5_000;

/** False only where the backend has shown that it does not know the session: silence proves nothing. */
export async function pingSession(session: LegacyUpstreamSession, id: string, clock: TimerClock): Promise<boolean> {
  const { channel, headers } = session;
  const outgoing = { bytes: requestBytes(id, 'ping', '{}'), id: keyOf(id), headers };
  const ping = new ProbeRequest(channel, outgoing, (message) => session.stray(message));
  const answer = await ping.within(PING_MS, clock);
  ping.drop();
  if (answer.kind === 'silent') return true;
  // A response with our id comes from the session itself, even where it refuses the ping.
  if (answer.kind === 'answered' && answer.message.id !== undefined) return true;
  return answer.http?.status !== 400 && answer.http?.status !== 404;
}
