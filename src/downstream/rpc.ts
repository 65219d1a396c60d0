/** POST of a JSON-RPC endpoint: one document in, one document out, or a status alone for notifications. */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../errors/failure.ts';
import type { Authenticated, Endpoint } from '../exchange/arrival.ts';
import type { RpcReply, TakenStatus } from '../jsonrpc/ports.ts';
import { concat, failureBytes, type Raw } from '../wire/compose.ts';
import { readRpc } from '../wire/rpc.ts';
import { readAccept } from './accept.ts';
import type { HttpAnswer } from './answer.ts';
import { type BodySink, checkContentType } from './body.ts';
import { faultFailure } from './fault.ts';
import { respondEmpty, respondFailure, respondJson } from './respond.ts';
import type { Route } from './routes.ts';
import { depthLimit, readInTurn, type Shared } from './streamable.ts';

export type RpcRoute = Extract<Route, { kind: 'rpc' }>;

/** Modern codes avoid the numbers that JSON-RPC reserves for servers. */
const era = 'modern';

export function serveRpc(
  req: IncomingMessage,
  res: HttpAnswer,
  { endpoint }: RpcRoute,
  sender: Authenticated,
  shared: Shared,
): void {
  const failure = checkContentType(req) ?? checkAccept(req);
  if (failure === undefined) readInTurn(req, res, endpoint, sender, new RpcPost(res, endpoint, sender, shared), shared);
  else refuseRpc(res, failure);
}

function checkAccept(req: IncomingMessage): Failure | undefined {
  if (readAccept(req.headers.accept).json) return undefined;
  return new Failure('not_acceptable', { message: 'Not acceptable: the client must accept application/json' });
}

/** JSON-RPC 2.0, 5: without an id to echo, the response's id is null. */
export function refuseRpc(res: HttpAnswer, failure: Failure, id?: string): void {
  const { reason, message, data, cause, http, id: own } = failure;
  const detail = { message, cause, http: { ...http, nullId: true }, ...(data && { data }), ...(own && { id: own }) };
  respondFailure(res, new Failure(reason, detail), { era, id });
}

class RpcPost implements BodySink, RpcReply {
  readonly #res: HttpAnswer;
  readonly #endpoint: Endpoint;
  readonly #sender: Authenticated;
  readonly #shared: Shared;

  constructor(res: HttpAnswer, endpoint: Endpoint, sender: Authenticated, shared: Shared) {
    this.#res = res;
    this.#endpoint = endpoint;
    this.#sender = sender;
    this.#shared = shared;
  }

  body(bytes: Uint8Array): void {
    const { gateway, notes } = this.#shared;
    const endpoint = this.#endpoint;
    const sender = this.#sender;
    try {
      const message = readRpc(bytes, depthLimit(this.#shared, endpoint));
      this.#res.isLast = this.#shared.closing();
      gateway.rpc.receive({ endpoint, sender, message, reply: this });
    } catch (error) {
      const failure = faultFailure(error, notes);
      gateway.unread({ endpoint, sender }, failure);
      refuseRpc(this.#res, failure);
    }
  }

  unreadable(failure: Failure): void {
    refuseRpc(this.#res, failure);
  }

  answered(status: number, body: Uint8Array): void {
    respondJson(this.#res, status, body);
  }

  taken(status: TakenStatus): void {
    respondEmpty(this.#res, status);
  }

  refuse(failure: Failure, id?: string): void {
    refuseRpc(this.#res, failure, id);
  }

  refuseEach(failure: Failure, ids: readonly string[]): void {
    const parts = ids.flatMap((id, at): Raw[] => [at === 0 ? '[' : ',', failureBytes(failure, era, id)]);
    const { http, row } = failure;
    respondJson(this.#res, http?.status ?? row.status, concat([...parts, ']']), http?.headers);
  }

  whenGone(listener: () => void): void {
    this.#res.whenGone(listener);
  }
}
