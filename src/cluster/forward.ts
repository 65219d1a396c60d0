/**
 * Hands a request to the process that has its session, and its response back, unchanged and while they go on. HTTP/1.1
 * on connections that are kept open.
 */
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { REFUSED_HEADER } from '../downstream/forwarding.ts';
import type { HttpAnswer } from '../downstream/respond.ts';
import { respondFailure } from '../downstream/respond.ts';
import { Failure } from '../errors/failure.ts';
import { ENVELOPE_HEADER } from './envelope.ts';

/** In a response to another process: the session is not here. Its value names the process that has it, if known. */
export const MOVED_HEADER = 'bascule-moved';
export const MOVED_STATUS = 421;

/** RFC 9110, 7.6.1: these belong to one connection. */
const ownHeaders = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade', 'expect'],
  // One that a client has made up.
  ENVELOPE_HEADER,
]);
/** Of a response: the body is written anew. */
const writtenAnew = new Set([...ownHeaders, 'transfer-encoding', 'date', MOVED_HEADER]);

export type Forwarded =
  /** The client has got a response, or is gone. */
  | { readonly kind: 'answered' }
  /** The process does not have the session. `to`: which one has it, where that is known. */
  | { readonly kind: 'moved'; readonly to: string | undefined }
  /** Nothing was sent: nobody listens there. */
  | { readonly kind: 'away'; readonly cause: Error }
  | { readonly kind: 'cut'; readonly cause: Error };

/** How another process is reached. */
export type Dial = (options: RequestOptions) => ClientRequest;

export interface Onward {
  readonly dial: Dial;
  readonly agent: Agent;
  /** Headers that go with it. */
  readonly more: readonly string[];
  /** Where it was read already. */
  readonly body: Uint8Array | undefined;
  /** Is given what cuts the request off. Returns what to call when it is over. */
  readonly watched?: (cut: () => void) => () => void;
}

/** Resolves when the response is over, or cannot be had. */
export async function forward(res: HttpAnswer, { dial, agent, more, body, watched }: Onward): Promise<Forwarded> {
  const { req } = res;
  const headers = [...kept(req.rawHeaders, ownHeaders), ...more];
  const isPiped = body === undefined && req.method === 'POST';
  if (res.requestId !== undefined && req.headers['x-request-id'] === undefined)
    headers.push('x-request-id', res.requestId);
  if (body === undefined) res.reading = { fail: () => res.destroy() };
  let over: (() => void) | undefined;
  const outcome = await new Promise<Forwarded>((resolve) => {
    const onward = dial({ agent, method: req.method ?? '', path: req.url ?? '', headers });
    over = watched?.(() => onward.destroy(new Error('the process is gone')));
    let isAnswered = false;
    let isConnected = false;
    onward.on('socket', (socket) =>
      whenConnected(socket, () => {
        isConnected = true;
        if (body !== undefined) return;
        if (res.awaitsContinue) res.writeContinue();
        req.pipe(onward);
      }),
    );
    // A refusal may come before the whole body was sent, which fails then.
    onward.on('error', (cause: NodeJS.ErrnoException) => {
      if (isAnswered) return;
      resolve({ kind: isConnected ? 'cut' : 'away', cause });
    });
    onward.on('response', (answer) => {
      isAnswered = true;
      if (answer.headers[REFUSED_HEADER] !== undefined) {
        answer.resume();
        const cause = new Error('the process there does not accept it: it is another one, or keys or clocks differ');
        // It has not looked at the request. A body that was passed on cannot be sent once more.
        resolve({ kind: isPiped ? 'cut' : 'away', cause });
        return;
      }
      const to = answer.headers[MOVED_HEADER];
      if (answer.statusCode === MOVED_STATUS && typeof to === 'string') {
        answer.resume();
        resolve({ kind: 'moved', to: to === '' ? undefined : to });
        return;
      }
      passBack(answer, res);
      answer.on('error', () => undefined);
      const cut = () => ({ kind: 'cut', cause: new Error('the response was cut off') }) as const;
      answer.on('close', () => resolve(answer.complete ? { kind: 'answered' } : cut()));
    });
    // The owner learns that the client is gone as it would from the client itself.
    res.whenGone({ gone: () => onward.destroy() });
    if (body !== undefined) onward.end(body);
  });
  over?.();
  return res.gone ? { kind: 'answered' } : outcome;
}

/** Ends a response that the other process did not finish. */
export function respondUnavailable(res: HttpAnswer, cause: Error): void {
  if (res.headersSent) res.destroy();
  else {
    res.isLast = true;
    respondFailure(res, new Failure('owner_unavailable', { cause }));
  }
}

/** A body that was begun cannot be sent a second time, so it waits for the connection. */
function whenConnected(socket: Socket, then: () => void): void {
  if (!socket.connecting) then();
  else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', then);
}

function passBack(answer: IncomingMessage, res: HttpAnswer): void {
  res.reading = undefined;
  res.writeHead(answer.statusCode ?? 502, kept(answer.rawHeaders, writtenAnew));
  // An event stream begins before its first event.
  if (answer.headers['content-length'] === undefined) res.flushHeaders();
  answer.pipe(res);
}

/** Names and values in turn, without those of the connection. */
function kept(raw: readonly string[], without: ReadonlySet<string>): string[] {
  const headers: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] as string;
    if (!without.has(name.toLowerCase())) headers.push(name, raw[at + 1] as string);
  }
  return headers;
}
