/** Paths that other folders serve: they get the request as it is, after the same checks as every request. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Failure } from '../errors/failure.ts';
import type { HttpAnswer } from './answer.ts';
import { preflightHeaders } from './cors.ts';
import { respondEmpty, respondFailure } from './respond.ts';
import type { Sweep, Sweepable } from './sweep.ts';

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

export interface PageGates {
  /** What the checks of `Origin` and `Host` found. */
  readonly foreign: Failure | undefined;
  readonly host: Failure | undefined;
  /** Times the body, which the page's own code reads. */
  readonly bodies: Sweep;
}

const ALLOW = 'GET, HEAD, POST, OPTIONS';

export function servePages(req: IncomingMessage, res: HttpAnswer, path: string, pages: Pages, gates: PageGates): void {
  const forScripts = pages.forScripts?.(path) ?? false;
  const refusal = gates.host ?? (forScripts ? gates.foreign : undefined);
  if (refusal !== undefined) {
    respondFailure(res, refusal, { era: res.era });
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
  new TimedBody(req, res, gates.bodies);
  if (res.awaitsContinue) res.writeContinue();
  void pages.handle(req, res, path);
}

/** Closes the connection if the body does not arrive in time. */
class TimedBody implements Sweepable {
  due = 0;
  readonly #req: IncomingMessage;

  constructor(req: IncomingMessage, res: HttpAnswer, sweep: Sweep) {
    this.#req = req;
    // The page's own code reads the body, so a broken body cannot be answered here.
    res.reading = { fail: () => this.expire() };
    sweep.add(this);
    const stop = () => {
      sweep.remove(this);
      res.reading = undefined;
    };
    req.once('end', stop);
    req.once('close', stop);
  }

  expire(): void {
    this.#req.destroy();
  }
}
