/** One record for each decision: at once where it is a no, at the end of what was allowed where it is a yes. */
import type { Clock } from '../../exchange/clock.ts';
import type { Ending } from '../../exchange/exchange.ts';
import { type Audit, type AuditedArguments, type AuditRecord, auditedPrincipal } from '../../observe/audit.ts';
import { type Recorded, recordArguments } from '../../observe/audit-redact.ts';
import type { Ruling } from '../../policy/ruling.ts';
import { methodRow } from '../../wire/methods.ts';
import { argumentsOf, traceOf, type Wish } from './wish.ts';

/** What was refused before it was known what is wanted, and of which backend. */
export type Unasked = Pick<Wish, 'principal' | 'endpoint' | 'message'>;

export interface RecordsOptions {
  readonly audit: Audit;
  readonly arguments: AuditedArguments | undefined;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
}

export class Records {
  readonly #options: RecordsOptions;
  readonly #recorded: Recorded;

  constructor(options: RecordsOptions) {
    this.#options = options;
    this.#recorded = recordArguments(options.arguments);
  }

  denied(wish: Wish, ruling: Ruling, reason: string): void {
    this.#options.audit.write({
      ...this.#common(wish, ruling, this.#options.timeOfDay()),
      decision: 'deny',
      reason,
      outcome: 'denied',
    });
  }

  /** A form that the profile does not have. */
  refused({ principal, endpoint, message }: Unasked, generation: number, reason: string): void {
    const row = message !== undefined && 'method' in message ? methodRow(message.method) : undefined;
    this.#options.audit.write({
      time: new Date(this.#options.timeOfDay()).toISOString(),
      decision: 'deny',
      reason,
      rules: [],
      generation,
      principal: auditedPrincipal(principal),
      endpoint: endpoint.path,
      action: row?.action,
      outcome: 'denied',
      traceId: traceOf(message),
    });
  }

  /** What to call when it is over. */
  allowed(wish: Wish, ruling: Ruling): (ending: Ending) => void {
    const { audit, clock, timeOfDay } = this.#options;
    const began = clock.now();
    const time = timeOfDay();
    return ({ outcome, reason }) =>
      audit.write({
        ...this.#common(wish, ruling, time),
        decision: 'allow',
        reason,
        outcome,
        durationMs: Math.round((clock.now() - began) * 1_000) / 1_000,
      });
  }

  #common(wish: Wish, ruling: Ruling, time: number): Omit<AuditRecord, 'decision'> {
    const { principal, endpoint, row, backend, revision, message, thing } = wish;
    const { generation, rules, wouldDeny, wouldAllow } = ruling;
    const request = message?.kind === 'request' ? message : undefined;
    return {
      time: new Date(time).toISOString(),
      rules,
      wouldDeny,
      wouldAllow,
      generation,
      principal: auditedPrincipal(principal),
      revision,
      endpoint: endpoint.path,
      backend: backend === '' ? undefined : backend,
      action: row.action,
      name: thing?.name,
      traceId: traceOf(message),
      arguments: request && this.#recorded(thing?.name, () => argumentsOf(request)),
    };
  }
}
