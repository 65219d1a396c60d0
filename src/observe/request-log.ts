/**
 * One log line for each message of a client, when it is over: who sent what from where, and what became of it. It
 * contains no arguments, no results and no secret. Names that clients choose are cut.
 */
import { randomUUID } from 'node:crypto';
import { targetOf } from '../catalog/requests.ts';
import type { Clock } from '../exchange/clock.ts';
import type { MessageEnding, MessageObserver } from '../exchange/observer.ts';
import { shownPrincipal } from '../identity/principal.ts';
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
  readonly #options: RequestLogOptions;

  constructor(options: RequestLogOptions) {
    this.#options = options;
  }

  began(): void {
    return;
  }

  ended(context: RequestContext, { outcome, failure }: MessageEnding): void {
    const { message, principal, endpoint, connection } = context;
    // A batch is told of as a whole, too: its members have lines of their own.
    if (message.kind !== 'request' && message.kind !== 'notification') return;
    const { write, clock } = this.#options;
    const row: MethodRow | undefined = context.row ?? methodRow(message.method);
    const name = row?.name === undefined ? undefined : targetOf(message, row)?.text;
    const ms = clock.now() - context.startedAt;
    write(
      {
        requestId: context.requestId ?? randomUUID(),
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
        ms: Math.round(ms * 1_000) / 1_000,
      },
      'request',
    );
  }
}
