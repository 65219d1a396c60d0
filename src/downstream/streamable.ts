/** GET and DELETE of an MCP endpoint: streams and the end of legacy sessions. */
import { Failure } from '../errors/failure.ts';
import type { Authenticated, Endpoint, SessionRequest } from '../exchange/arrival.ts';
import type { Connection } from '../exchange/outlet.ts';
import { checkStream, readAccept } from './accept.ts';
import { faultFailure } from './events.ts';
import { headersOf } from './request-headers.ts';
import { type HttpAnswer, lightenStream, respondEmpty, respondFailure } from './respond.ts';
import { SseConnection } from './stream.ts';

function sessionRequest({ req }: HttpAnswer, endpoint: Endpoint, sender: Authenticated): SessionRequest {
  return { endpoint, sender, header: headersOf(req) };
}

export async function serveStream(res: HttpAnswer, endpoint: Endpoint, sender: Authenticated): Promise<void> {
  if (refuseStream(res, endpoint)) return;
  let connection: SseConnection | undefined;
  const open = (): Connection => {
    connection ??= new SseConnection(res);
    return connection;
  };
  const failure = await orFault(res, () => res.shared.gateway.listen(sessionRequest(res, endpoint, sender), open));
  if (failure === undefined) {
    connection?.flush();
    lightenStream(res);
  } else if (connection === undefined) respondFailure(res, failure, { era: 'legacy' });
  else connection.end();
}

/** True if the stream was refused and the request answered. */
export function refuseStream(res: HttpAnswer, endpoint: Endpoint): boolean {
  res.isLast = res.shared.gateway.draining;
  const failure = res.isLast
    ? new Failure('shutting_down')
    : checkStream(readAccept(res.req.headers.accept), endpoint.profile);
  if (failure !== undefined) respondFailure(res, failure, { era: 'legacy' });
  return failure !== undefined;
}

export async function serveDelete(res: HttpAnswer, endpoint: Endpoint, sender: Authenticated): Promise<void> {
  const failure = await orFault(res, () => res.shared.gateway.end(sessionRequest(res, endpoint, sender)));
  if (failure === undefined) respondEmpty(res, 204);
  else respondFailure(res, failure, { era: 'legacy' });
}

/** The gateway's result. An exception becomes a failure. */
export async function orFault<T>(res: HttpAnswer, ask: () => T | Failure | Promise<T | Failure>): Promise<T | Failure> {
  try {
    return await ask();
  } catch (error) {
    return faultFailure(error, res.shared.notes);
  }
}
