/** Policy, rates and the audit trail that a config describes. */

import type { View } from './catalog/view.ts';
import type { Config } from './config/config.ts';
import type { Endpoint } from './exchange/arrival.ts';
import type { Clock } from './exchange/clock.ts';
import { Leave } from './gateway/leave/leave.ts';
import { Records } from './gateway/leave/records.ts';
import { UnmatchedNames } from './gateway/leave/unmatched.ts';
import type { Audit, AuditTarget } from './observe/audit.ts';
import { auditSink } from './observe/audit-sinks.ts';
import { AuditWriter } from './observe/audit-writer.ts';
import type { Counters } from './observe/counters.ts';
import type { Log } from './observe/log.ts';
import { compilePolicy } from './policy/compile.ts';
import type { World } from './policy/match.ts';
import { Rates } from './policy/rates.ts';
import { isSame } from './reload/same.ts';

export interface LeaveOptions {
  readonly log: Log;
  readonly counters: Counters;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  /** The client reads our standard output: nothing else may be written there. */
  readonly stdoutIsProtocol: boolean;
  /** Where records go, in the place of what the config says. */
  readonly audit?: Audit | undefined;
}

/** For the last records to reach their place: a disk that takes longer has failed. */
export const AUDIT_CLOSE_MS = 2_000;

/** What rules can speak of. */
export function worldOf(config: Pick<Config, 'endpoints' | 'backends' | 'services'>): World {
  const { endpoints, backends, services } = config;
  return { endpoints: endpoints.map(({ path }) => path), backends: [...backends, ...services].map(({ name }) => name) };
}

/** One `Leave` after the other, and what they have in common: the measures of rates, and the place of the records. */
export class Leaves {
  readonly #options: LeaveOptions;
  #rates: Rates | undefined;
  #writer: Audit | undefined;
  #place: AuditTarget | undefined;
  #names: UnmatchedNames | undefined;

  constructor(options: LeaveOptions) {
    this.#options = options;
    this.#writer = options.audit;
  }

  make(config: Config): Leave {
    const { policy, rates, generation, backends } = config;
    const options = this.#options;
    const world = worldOf(config);
    const now = () => options.clock.now();
    this.#rates = rates.length === 0 ? undefined : new Rates(rates, world, now, policy?.groupsClaim, this.#rates);
    const audit = this.#auditFor(config);
    const warn = (text: string, facts: Readonly<Record<string, unknown>>) => options.log.warn(facts, text);
    this.#names = policy && new UnmatchedNames(policy, config.endpoints, warn);
    return new Leave({
      policy: policy && compilePolicy(policy, world, generation),
      rates: this.#rates,
      records: audit && new Records({ ...options, audit, arguments: config.audit?.arguments }),
      generation,
      profiles: new Map(backends.flatMap(({ name, profile }) => (profile === undefined ? [] : [[name, profile]]))),
      unmatched: this.#names,
    });
  }

  /** A list was read of every backend behind the endpoint: rules may name what is not in it. */
  read(endpoint: Endpoint, list: string | undefined, view: View): void {
    this.#names?.read(endpoint, list, view);
  }

  async close(withinMs: number): Promise<void> {
    await this.#writer?.close(withinMs);
  }

  /** What was allowed under an earlier config is recorded when it is over, in the place that there is by then. */
  #auditFor(config: Config): Audit | undefined {
    if (this.#options.audit !== undefined) return this.#options.audit;
    const { audit } = config;
    if (audit === undefined) return undefined;
    if (!isSame(this.#place, audit.to)) {
      void this.#writer?.close(AUDIT_CLOSE_MS);
      this.#writer = writerFor(config, this.#options);
      this.#place = audit.to;
    }
    return { write: (record) => this.#writer?.write(record), close: (withinMs) => this.close(withinMs) };
  }
}

function writerFor({ audit }: Config, options: LeaveOptions): Audit | undefined {
  if (audit === undefined) return undefined;
  const { log, counters, clock, timeOfDay, stdoutIsProtocol } = options;
  return new AuditWriter({
    sink: auditSink(audit.to, process, stdoutIsProtocol),
    now: timeOfDay,
    after: (ms, action) => clock.after(ms, action),
    lost: (count, why, cause) => {
      counters.count('audit.lost', count);
      log.warn({ count, why, ...(cause instanceof Error && { cause: cause.message }) }, 'audit records were lost');
    },
  });
}
