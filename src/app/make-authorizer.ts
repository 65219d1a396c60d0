/** Makes the authorizer that a config describes: policy, rates and the audit trail. */

import { randomUUID } from 'node:crypto';
import { createNames } from '../catalog/names.ts';
import type { Config } from '../config/config.ts';
import { CedarJudge } from '../decisions/cedar/judge.ts';
import { loadCedar } from '../decisions/cedar/module.ts';
import { openDecisionPoints } from '../decisions/open.ts';
import type { Clock } from '../exchange/clock.ts';
import { shownPrincipal } from '../identity/principal.ts';
import type { Audit, AuditTarget } from '../observe/audit.ts';
import { auditSink } from '../observe/audit-sinks.ts';
import { type AuditSink, AuditWriter } from '../observe/audit-writer.ts';
import { CoalescedLog } from '../observe/coalesced.ts';
import type { Counters } from '../observe/counters.ts';
import type { Log } from '../observe/log.ts';
import type { Warn } from '../observe/ports.ts';
import type { RefusalLog } from '../observe/refusals.ts';
import type { Watcher } from '../observe/watchers.ts';
import type { PinGuard } from '../pins/ports.ts';
import { AuditTrail } from '../policy/audit-trail.ts';
import { Authorizer } from '../policy/authorizer.ts';
import type { World } from '../policy/match.ts';
import type { DecisionPoints } from '../policy/outside.ts';
import { Policy } from '../policy/policy.ts';
import { Rates } from '../policy/rates.ts';
import type { PolicySettings } from '../policy/rules.ts';
import { UnmatchedNames } from '../policy/unmatched-names.ts';
import type { Counts } from './counts.ts';
import { digest } from './digest.ts';
import type { PinMaker } from './load-pins.ts';
import { type Recording, recorderTo, recordingFor } from './recording.ts';
import { isSame } from './reload/is-same.ts';
import { shareOfConcurrency, type WorkerPlace } from './worker-share.ts';

export interface AuthorizerOptions {
  readonly log: Log;
  readonly counters: Counters;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  /** The client reads our standard output, so nothing else may be written there. */
  readonly stdoutIsProtocol: boolean;
  readonly refusals: RefusalLog;
  readonly watchers: readonly Watcher[];
  readonly warn: Warn;
  /** Absent where the gateway is one process. */
  readonly worker?: WorkerPlace | undefined;
  readonly counts: Pick<Counts, 'tokens'>;
  /** Makes what judges by pins. */
  readonly pins: Pick<PinMaker, 'make'>;
  /** Where records go, instead of where the config says. */
  readonly audit?: Audit | undefined;
  /** What writes the records. This process by default. */
  readonly auditSink?: ((to: AuditTarget) => AuditSink) | undefined;
  /** Where the records of the current generation go. */
  readonly currentAudit: () => AuditPlace | undefined;
}

/** The endpoints, backends and names that rules can refer to. */
function worldOf({ endpoints, backends, services }: Config): World {
  const names = backends.map(({ name }) => name);
  return {
    endpoints: endpoints.map(({ path }) => path),
    backends: [...names, ...services.map(({ name }) => name)],
    encode: createNames(names, digest).encode,
    digest,
  };
}

/** The authorizer of one generation, with what the next generation takes over from it. */
export interface MadeAuthorizer {
  readonly authorizer: Authorizer;
  readonly rates: Rates | undefined;
  readonly unmatchedNames: UnmatchedNames | undefined;
  readonly decisions: MadeDecisions | undefined;
  readonly audit: AuditPlace | undefined;
  readonly pins: PinGuard | undefined;
  /** Where facts of requests are recorded for rehearsals. */
  readonly recording: Recording | undefined;
  /** The settings that `pins` was made of. */
  readonly pinned: Config['pins'];
}

export interface AuditPlace {
  readonly writer: Audit;
  readonly target?: AuditTarget;
  /** Proves that records can be written, where requests depend on that. */
  probe(): Promise<void>;
}

/** Opens nothing, and changes nothing of `before`. */
export function makeAuthorizer(config: Config, options: AuthorizerOptions, before?: MadeAuthorizer): MadeAuthorizer {
  const { policy, generation, backends } = config;
  const world = worldOf(config);
  const now = () => options.clock.now();
  const rates =
    config.rates.length === 0
      ? undefined
      : new Rates(
          options.worker === undefined ? config.rates : shareOfConcurrency(config.rates, options.worker),
          world,
          { now, groupsClaim: policy?.groupsClaim, before: before?.rates, source: options.counts.tokens },
        );
  const hasTrail = options.audit !== undefined || config.audit !== undefined;
  const unmatchedNames = policy && new UnmatchedNames(policy, config.endpoints, options.warn);
  const pins = before !== undefined && isSame(before.pinned, config.pins) ? before.pins : options.pins.make(config);
  const recording = recordingFor(config, options, before?.recording);
  const cedar = policy?.cedar && new CedarJudge(policy.cedar, loadCedar());
  const decisions = policy && pointsFor(policy, options, before);
  const authorizer = new Authorizer({
    pins,
    recording: recording && recorderTo(recording.file, config, options.timeOfDay),
    policy: policy && new Policy(policy, world, generation, cedar),
    decisions: decisions?.points,
    rates,
    records: hasTrail
      ? new AuditTrail({
          ...options,
          audit: trailOf(options.currentAudit, options.counters),
          isDemanded: config.audit?.onFailure === 'deny',
          arguments: config.audit?.arguments,
        })
      : undefined,
    generation,
    profiles: new Map(backends.flatMap(({ name, profile }) => (profile === undefined ? [] : [[name, profile]]))),
    unmatched: unmatchedNames,
    onDenied: ({ endpoint, principal, row, backend, thing }, failure, rules) => {
      for (const watcher of options.watchers) watcher.denied?.({ endpoint: endpoint.path, failure, rules });
      options.refusals.tell({
        failure,
        endpoint: endpoint.path,
        principal: shownPrincipal(principal),
        action: row.action,
        backend: backend === '' ? undefined : backend,
        name: thing?.name,
      });
    },
  });
  return {
    ...{ authorizer, rates, unmatchedNames, pins, pinned: config.pins, recording, decisions },
    audit: placeFor(config, options, before?.audit),
  };
}

/** The decision points of one generation, and what they were made of. */
export interface MadeDecisions {
  readonly points: DecisionPoints;
  readonly made: Pick<PolicySettings, 'mode' | 'decisions' | 'groupsClaim'>;
}

/** Decision points that are the same stay: with their connections, and with what is known of their failures. */
function pointsFor(
  { mode, decisions, groupsClaim }: PolicySettings,
  { clock, timeOfDay, log }: AuthorizerOptions,
  before: Pick<MadeAuthorizer, 'decisions'> | undefined,
): MadeDecisions | undefined {
  const made = { mode, decisions, groupsClaim };
  if (isSame(before?.decisions?.made, made)) return before?.decisions;
  const coalesced = new CoalescedLog({ log, after: (ms, action) => clock.after(ms, action) });
  const points = openDecisionPoints(made, {
    clock,
    timeOfDay,
    newId: randomUUID,
    onFault: (point, fault) => {
      const text = 'a decision point could not decide';
      coalesced.tell('warn', `${point} ${fault.kind}`, { decisionPoint: point, fault: fault.kind }, text);
    },
  });
  return points && { points, made };
}

/** What was allowed under an earlier config is recorded when it is over, in the place that is current then. */
function trailOf(currentAudit: AuthorizerOptions['currentAudit'], counters: Counters): Audit {
  return {
    write: (record, reserved) => {
      counters.count('audit.records');
      currentAudit()?.writer.write(record, reserved);
    },
    reserve: () => currentAudit()?.writer.reserve?.() ?? true,
    close: async () => undefined,
  };
}

/** The place stays where it is the same, and where there is no audit any more: for what was allowed before. */
function placeFor({ audit }: Config, options: AuthorizerOptions, before?: AuditPlace): AuditPlace | undefined {
  if (options.audit !== undefined) return before ?? { writer: options.audit, probe: async () => undefined };
  if (audit === undefined || isSame(before?.target, audit.to)) return before;
  const writer = writerFor(audit.to, options);
  return { writer, target: audit.to, probe: async () => (audit.onFailure === 'deny' ? writer.probe() : undefined) };
}

const causes = {
  full: 'the sink is too slow and the queue is full',
  failed: 'they could not be written',
} as const;

function writerFor(place: AuditTarget, options: AuthorizerOptions): AuditWriter {
  const { log, counters, clock, timeOfDay, stdoutIsProtocol } = options;
  const coalesced = new CoalescedLog({ log, after: (ms, action) => clock.after(ms, action) });
  return new AuditWriter({
    sink: options.auditSink?.(place) ?? auditSink(place, process, stdoutIsProtocol),
    now: timeOfDay,
    after: (ms, action) => clock.after(ms, action),
    lost: (count, why, cause) => {
      counters.count('audit.lost', count);
      const facts = { why, ...(cause instanceof Error && { cause: cause.message }) };
      coalesced.tell('warn', why, facts, `audit records were lost: ${causes[why]}`, count);
    },
  });
}
