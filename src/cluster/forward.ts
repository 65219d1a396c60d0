/**
 * Hands a request to the process that has its session, and its response back, unchanged and while they go on. HTTP/1.1
 * over Unix sockets that are kept open.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpAnswer } from '../downstream/respond.ts';
import { respondFailure } from '../downstream/respond.ts';
import { Failure } from '../errors/failure.ts';
import { ENVELOPE_HEADER } from './envelope.ts';

/** RFC 9110, 7.6.1: these belong to one connection. */
const ownHeaders = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade', 'expect'],
  // One that a client has made up.
  ENVELOPE_HEADER,
]);
/** Of a response: the body is written anew. */
const writtenAnew = new Set([...ownHeaders, 'transfer-encoding', 'date']);

/** How long a worker may take to be replaced, and how often to look. */
const REPLACED_MS = 10_000;
const LOOK_MS = 50;

export class Forwarder {
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 64 });

  /** `more`: headers that go with it. `body`: where it was read already. */
  async forward(res: HttpAnswer, socketPath: string, more: readonly string[], body?: Uint8Array): Promise<void> {
    const { req } = res;
    const headers = [...kept(req.rawHeaders, ownHeaders), ...more];
    if (res.requestId !== undefined && req.headers['x-request-id'] === undefined)
      headers.push('x-request-id', res.requestId);
    if (body === undefined) res.reading = { fail: () => res.destroy() };
    const deadline = Date.now() + REPLACED_MS;
    for (;;) {
      const failed = await this.#attempt(res, { socketPath, headers, body });
      if (failed === undefined || res.gone) return;
      // Nothing was sent: the worker is being replaced.
      const isAway = failed.code === 'ECONNREFUSED' || failed.code === 'ENOENT';
      if (!isAway || Date.now() > deadline) {
        if (res.headersSent) res.destroy();
        else {
          res.isLast = true;
          respondFailure(res, new Failure('owner_unavailable', { cause: failed }));
        }
        return;
      }
      await sleep(LOOK_MS);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Resolves when the response is over, or with the error that ended it. */
  #attempt(
    res: HttpAnswer,
    { socketPath, headers, body }: { socketPath: string; headers: string[]; body: Uint8Array | undefined },
  ): Promise<NodeJS.ErrnoException | undefined> {
    const { req } = res;
    return new Promise((resolve) => {
      const onward = request({ socketPath, agent: this.#agent, method: req.method, path: req.url, headers });
      let isAnswered = false;
      // A refusal may come before the whole body was sent, which fails then.
      onward.on('error', (error) => {
        if (!isAnswered) resolve(error);
      });
      onward.on('response', (answer) => {
        isAnswered = true;
        passBack(answer, res);
        answer.on('error', () => undefined);
        answer.on('close', () => resolve(answer.complete ? undefined : new Error('the response was cut off')));
      });
      // The owner learns that the client is gone as it would from the client itself.
      res.whenGone({ gone: () => onward.destroy() });
      if (body !== undefined) onward.end(body);
      else
        onward.on('socket', (socket) =>
          whenConnected(socket, () => {
            if (res.awaitsContinue) res.writeContinue();
            req.pipe(onward);
          }),
        );
    });
  }
}

/** A body that was begun cannot be sent a second time, so it waits for the connection. */
function whenConnected(
  socket: { connecting: boolean; once(event: 'connect', then: () => void): unknown },
  then: () => void,
): void {
  if (socket.connecting) socket.once('connect', then);
  else then();
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
