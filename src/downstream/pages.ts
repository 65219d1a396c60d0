/** Paths that other rooms serve themselves: they get the request as it is, behind the same gates as everybody's. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Failure } from '../errors/failure.ts';
import type { HttpAnswer } from './answer.ts';
import { preflightHeaders } from './cors.ts';
import { respondEmpty, respondFailure } from './respond.ts';
import type { Sweep, Sweepable } from './sweep.ts';

export interface Pages {
  owns(path: string): boolean;
  /**
   * Whether scripts of allowed origins call it, as they call an endpoint. Elsewhere a browser goes by itself, from whatever
   * page led to it, so that `Origin` says nothing: the room has its own ways to know its forms.
   */
  forScripts?(path: string): boolean;
  /** Never rejects, and always answers. */
  handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<void>;
}

export interface PageGates {
  /** What the gates found wrong with where the request comes from. */
  readonly foreign: Failure | undefined;
  readonly host: Failure | undefined;
  /** Times the body, which the room reads itself. */
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

/** A body that does not come to its end in time takes its connection with it. */
class TimedBody implements Sweepable {
  due = 0;
  readonly #req: IncomingMessage;

  constructor(req: IncomingMessage, res: HttpAnswer, sweep: Sweep) {
    this.#req = req;
    // Somebody else reads it; what breaks off cannot be answered by us.
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
