/** POST of a JSON-RPC endpoint: one document in, one document out, or a status alone for notifications. */
import { Failure } from '../errors/failure.ts';
import type { Authenticated, Endpoint } from '../exchange/arrival.ts';
import type { RpcArrival, RpcReply, TakenStatus } from '../jsonrpc/ports.ts';
import { concat, failureBytes, type Raw } from '../wire/compose.ts';
import { readRpc } from '../wire/rpc.ts';
import { readAccept } from './accept.ts';
import { checkContentType, IncomingBody } from './body.ts';
import { faultFailure } from './events.ts';
import { type HttpAnswer, respondEmpty, respondFailure, respondJson } from './respond.ts';

/** Modern codes avoid the numbers that JSON-RPC reserves for servers. */
const era = 'modern';

export function serveRpc(res: HttpAnswer, endpoint: Endpoint, sender: Authenticated): void {
  const failure = checkContentType(res) ?? checkAccept(res);
  if (failure === undefined) new RpcPost(res, endpoint, sender).read();
  else refuseRpc(res, failure);
}

function checkAccept({ req }: HttpAnswer): Failure | undefined {
  if (readAccept(req.headers.accept).json) return undefined;
  return new Failure('not_acceptable', { message: 'Not acceptable: the client must accept application/json' });
}

/** JSON-RPC 2.0, 5: without an id to echo, the response's id is null. */
export function refuseRpc(res: HttpAnswer, failure: Failure, id?: string): void {
  const { reason, message, data, cause, http, id: own } = failure;
  const detail = { message, cause, http: { ...http, nullId: true }, ...(data && { data }), ...(own && { id: own }) };
  respondFailure(res, new Failure(reason, detail), { era, id });
}

class RpcPost extends IncomingBody implements RpcArrival, RpcReply {
  readonly reply: RpcReply = this;
  /** Set once the body is read. */
  message!: RpcArrival['message'];

  protected received(bytes: Uint8Array): void {
    const { endpoint, res } = this;
    const { gateway, limits, notes } = res.shared;
    try {
      this.message = readRpc(bytes, { depth: endpoint.profile.jsonDepth ?? limits.jsonDepth });
      res.isLast = gateway.draining;
      gateway.rpc.receive(this);
    } catch (error) {
      const failure = faultFailure(error, notes);
      gateway.unread(this, failure);
      refuseRpc(res, failure);
    }
  }

  protected unreadable(failure: Failure): void {
    refuseRpc(this.res, failure);
  }

  answered(status: number, body: Uint8Array): void {
    respondJson(this.res, status, body);
  }

  taken(status: TakenStatus): void {
    respondEmpty(this.res, status);
  }

  /** Where no response is expected, the HTTP status reports the failure. */
  refuse(failure: Failure, ids: readonly string[]): void {
    const isBatch = this.message.kind === 'batch';
    if (!isBatch || ids.length === 0) {
      refuseRpc(this.res, failure, isBatch ? undefined : ids[0]);
      return;
    }
    const parts = ids.flatMap((id, at): Raw[] => [at === 0 ? '[' : ',', failureBytes(failure, era, id)]);
    const { http, row } = failure;
    respondJson(this.res, http?.status ?? row.status, concat([...parts, ']']), http?.headers);
  }

  whenGone(listener: () => void): void {
    this.res.whenGone({ gone: listener });
  }
}
