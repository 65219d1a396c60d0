/** Paths that other folders serve: they get the request as it is, after the same checks as every request. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Failure } from '../errors/failure.ts';
import type { Sweepable } from '../exchange/sweep.ts';
import { preflightHeaders } from './cors.ts';
import { type HttpAnswer, type OpenBody, respondEmpty, respondFailure } from './respond.ts';

export interface Pages {
  owns(path: string): boolean;
  /**
   * Whether scripts of allowed origins call this path, as they call an endpoint. All other paths are opened by a
   * browser from any page, so `Origin` says nothing there: those pages protect their forms themselves.
   */
  forScripts?(path: string): boolean;
  /** Never rejects, and always responds. */
  handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<void>;
}

const ALLOW = 'GET, HEAD, POST, OPTIONS';

/** `foreign` and `host` are what the checks of `Origin` and `Host` found. */
export function servePages(
  res: HttpAnswer,
  path: string,
  pages: Pages,
  foreign: Failure | undefined,
  host: Failure | undefined,
): void {
  const { req } = res;
  const forScripts = pages.forScripts?.(path) ?? false;
  const refusal = host ?? (forScripts ? foreign : undefined);
  if (refusal !== undefined) {
    respondFailure(res, refusal);
    return;
  }
  if (forScripts && req.method === 'OPTIONS') {
    respondEmpty(res, 204, preflightHeaders(req, ALLOW));
    return;
  }
  if (forScripts && res.origin !== undefined) {
    res.setHeader('Access-Control-Allow-Origin', res.origin);
    res.setHeader('Vary', 'Origin');
  }
  new TimedBody(res);
  if (res.awaitsContinue) res.writeContinue();
  void pages.handle(req, res, path);
}

/** Closes the connection if the body does not arrive in time. The page's own code reads the body. */
class TimedBody implements OpenBody, Sweepable {
  due = 0;
  readonly #req: IncomingMessage;

  constructor(res: HttpAnswer) {
    const { req, shared } = res;
    this.#req = req;
    res.reading = this;
    shared.bodies.add(this);
    const stop = () => {
      shared.bodies.remove(this);
      res.reading = undefined;
    };
    req.once('end', stop);
    req.once('close', stop);
  }

  expire(): void {
    this.#req.destroy();
  }

  /** The page reads the body, so a broken body cannot be answered here. */
  fail(): void {
    this.expire();
  }
}
