/**
 * A sender without valid credentials. Its body costs next to nothing: it is read up to a small limit and not kept, only
 * for the id that the response must echo.
 */
import type { IncomingMessage } from 'node:http';
import type { Failure } from '../errors/failure.ts';
import { askedOf, rpcAsked } from '../exchange/asked.ts';
import type { AuthContext, Credentials } from '../identity/principal.ts';
import { eraOf } from '../pipeline/admit.ts';
import { readRpc } from '../wire/rpc.ts';
import { readMessage } from '../wire/scan.ts';
import { IncomingBody } from './body.ts';
import { headersOf } from './request-headers.ts';
import { type HttpAnswer, respondFailure } from './respond.ts';
import type { EndpointRoute } from './routes.ts';
import { refuseRpc } from './rpc.ts';

export function refuseSender(res: HttpAnswer, route: EndpointRoute, failure: Failure): void {
  const refused = new RefusedBody(res, route, failure);
  if (res.req.method === 'POST') refused.read();
  else refused.tell({ kind: 'other' });
}

/** An HTTP+SSE client knows only the stream's address: its token and the challenge it gets are for that address. */
export function credentialsOf(req: IncomingMessage, route: EndpointRoute): Exclude<Credentials, 'local'> {
  if (route.kind !== 'messages') return req;
  const { url = '', rawHeaders } = req;
  const query = url.indexOf('?');
  return { rawHeaders, url: query === -1 ? route.stream : `${route.stream}${url.slice(query)}` };
}

class RefusedBody extends IncomingBody<undefined> {
  readonly #route: EndpointRoute;
  readonly #failure: Failure;

  constructor(res: HttpAnswer, route: EndpointRoute, failure: Failure) {
    super(res, route.endpoint, undefined);
    this.#route = route;
    this.#failure = failure;
  }

  protected received(bytes: Uint8Array): void {
    const { endpoint, res } = this;
    const limits = { depth: endpoint.profile.jsonDepth ?? res.shared.limits.jsonDepth, isGlance: true };
    try {
      if (this.#route.kind === 'rpc') {
        const message = readRpc(bytes, limits);
        this.tell(rpcAsked(message), message.kind === 'request' ? message.id : undefined);
        return;
      }
      const message = readMessage(bytes, limits);
      const era = eraOf(message, headersOf(res.req)('mcp-protocol-version'));
      this.tell(askedOf(message), message.kind === 'request' ? message.id.raw : undefined, era);
    } catch {
      // A refused sender is not told what is wrong with the body.
      this.unreadable();
    }
  }

  protected unreadable(): void {
    this.tell({ kind: 'unreadable' });
  }

  tell(asked: AuthContext, id?: string, era = this.res.era): void {
    const { kind, endpoint } = this.#route;
    const credentials = credentialsOf(this.res.req, this.#route);
    const told = this.res.shared.gateway.refusal(endpoint, credentials, this.#failure, asked);
    if (kind === 'rpc') refuseRpc(this.res, told, id);
    else respondFailure(this.res, told, { era: kind === 'mcp' ? era : 'legacy', id });
  }
}
