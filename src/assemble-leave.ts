/** Policy, rates and the audit trail that a config describes. */
import type { Config } from './config/config.ts';
import type { Clock } from './exchange/clock.ts';
import { Leave } from './gateway/leave/leave.ts';
import { Records } from './gateway/leave/records.ts';
import type { Audit } from './observe/audit.ts';
import { auditSink } from './observe/audit-sinks.ts';
import { AuditWriter } from './observe/audit-writer.ts';
import type { Counters } from './observe/counters.ts';
import type { Log } from './observe/log.ts';
import { compilePolicy } from './policy/compile.ts';
import type { World } from './policy/match.ts';
import { Rates } from './policy/rates.ts';

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

export interface AssembledLeave {
  readonly leave: Leave;
  readonly audit: Audit | undefined;
}

/** What rules can speak of. */
export function worldOf(config: Pick<Config, 'endpoints' | 'backends' | 'services'>): World {
  const { endpoints, backends, services } = config;
  return { endpoints: endpoints.map(({ path }) => path), backends: [...backends, ...services].map(({ name }) => name) };
}

export function assembleLeave(config: Config, options: LeaveOptions): AssembledLeave {
  const { policy, rates, generation } = config;
  const world = worldOf(config);
  const audit = options.audit ?? writerFor(config, options);
  const leave = new Leave({
    policy: policy && compilePolicy(policy, world, generation),
    rates: rates.length === 0 ? undefined : new Rates(rates, world, () => options.clock.now(), policy?.groupsClaim),
    records: audit && new Records({ ...options, audit, arguments: config.audit?.arguments }),
    generation,
    profiles: new Map(config.backends.flatMap(({ name, profile }) => (profile === undefined ? [] : [[name, profile]]))),
  });
  return { leave, audit };
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
