/**
 * One log line for each message of a client, when it is over: who sent what from where, and what became of it. It
 * contains no arguments, no results and no secret. Names that clients choose are cut.
 */
import { targetOf } from '../catalog/requests.ts';
import { newRequestId } from '../downstream/request-id.ts';
import type { Clock } from '../exchange/clock.ts';
import type { MessageEnding, MessageObserver } from '../exchange/observer.ts';
import { shownPrincipal } from '../identity/principal.ts';
import type { ObservedRpc, RpcEnding, RpcObserver } from '../jsonrpc/ports.ts';
import type { RequestContext } from '../pipeline/context.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { SHOWN_CHARACTERS } from './client-names.ts';
import type { FrequentLog } from './log.ts';
import type { Watcher } from './watchers.ts';

export interface RequestLogOptions {
  /** Takes the lines. */
  readonly write: FrequentLog;
  readonly clock: Pick<Clock, 'now'>;
}

export class RequestLog implements Watcher, MessageObserver<RequestContext> {
  readonly messages = this;
  readonly rpc: RpcObserver;
  readonly #options: RequestLogOptions;

  constructor(options: RequestLogOptions) {
    this.#options = options;
    this.rpc = { began: () => undefined, ended: (call, ending) => this.#rpcEnded(call, ending) };
  }

  began(): void {
    return;
  }

  ended(context: RequestContext, { outcome, failure }: MessageEnding): void {
    const { message, principal, endpoint, connection } = context;
    // A batch is told of as a whole, too: its members have lines of their own.
    if (message.kind !== 'request' && message.kind !== 'notification') return;
    const row: MethodRow | undefined = context.row ?? methodRow(message.method);
    const name = row?.name === undefined ? undefined : targetOf(message, row)?.text;
    this.#options.write(
      {
        requestId: context.requestId ?? newRequestId(),
        principal: shownPrincipal(principal),
        address: context.address,
        client: context.clientName,
        endpoint: endpoint.path,
        method: message.method.slice(0, SHOWN_CHARACTERS),
        name: name?.slice(0, SHOWN_CHARACTERS),
        backend: context.target?.backend,
        status: connection === undefined ? context.reply.status : undefined,
        transport: connection?.via,
        outcome,
        reason: failure?.reason,
        ms: this.#msSince(context.startedAt),
      },
      'request',
    );
  }

  /** JSON-RPC that is not MCP: clients do not name themselves, and only the method says what is called. */
  #rpcEnded({ arrival, call, startedAt }: ObservedRpc, { outcome, failure }: RpcEnding): void {
    const { endpoint, requestId, reply, sender } = arrival;
    const { principal, credentials, generation } = sender;
    this.#options.write(
      {
        requestId: requestId ?? newRequestId(),
        principal: shownPrincipal(principal),
        address: credentials === 'local' ? undefined : generation.addresses.of(credentials) || undefined,
        endpoint: endpoint.path,
        method: call.method.slice(0, SHOWN_CHARACTERS),
        backend: endpoint.backends[0],
        status: reply.status,
        outcome,
        reason: failure?.reason,
        ms: this.#msSince(startedAt),
      },
      'request',
    );
  }

  #msSince(startedAt: number): number {
    return Math.round((this.#options.clock.now() - startedAt) * 1_000) / 1_000;
  }
}
