/** Makes the authorizer that a config describes: policy, rates and the audit trail. */

import { createNames } from '../catalog/names.ts';
import type { ListView } from '../catalog/view.ts';
import type { Config } from '../config/config.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Principal } from '../identity/principal.ts';
import type { Audit, AuditTarget } from '../observe/audit.ts';
import { auditSink } from '../observe/audit-sinks.ts';
import { AuditWriter } from '../observe/audit-writer.ts';
import { CoalescedLog } from '../observe/coalesced.ts';
import type { Counters } from '../observe/counters.ts';
import type { Log } from '../observe/log.ts';
import type { RefusalLog } from '../observe/refusals.ts';
import { AuditTrail } from '../policy/audit-trail.ts';
import { Authorizer } from '../policy/authorizer.ts';
import { compilePolicy } from '../policy/compile.ts';
import type { World } from '../policy/match.ts';
import { Rates } from '../policy/rates.ts';
import { UnmatchedNames } from '../policy/unmatched-names.ts';
import { digest } from './digest.ts';
import { isSame } from './reload/is-same.ts';

export interface AuthorizerFactoryOptions {
  readonly log: Log;
  readonly counters: Counters;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  /** The client reads our standard output, so nothing else may be written there. */
  readonly stdoutIsProtocol: boolean;
  readonly refusals: RefusalLog;
  /** Where records go, instead of where the config says. */
  readonly audit?: Audit | undefined;
}

/** How the log names a principal. */
export function shownPrincipal({ kind, subject, keyName }: Principal): string {
  return subject ?? keyName ?? kind;
}

/** How long the last records may take to be written: a disk that takes longer has failed. */
export const AUDIT_CLOSE_MS = 2_000;

/** The endpoints, backends and names that rules can refer to. */
export function worldOf(config: Pick<Config, 'endpoints' | 'backends' | 'services'>): World {
  const { endpoints, backends, services } = config;
  const names = createNames(
    backends.map(({ name }) => name),
    digest,
  );
  return {
    endpoints: endpoints.map(({ path }) => path),
    backends: [...backends, ...services].map(({ name }) => name),
    encode: names.encode,
    digest,
  };
}

/** Made for one config, and not in force yet: making the rest of that config may still fail. */
export interface PreparedAuthorizer {
  readonly authorizer: Authorizer;
  readonly rates: Rates | undefined;
  readonly names: UnmatchedNames | undefined;
  /** Undefined where records stay in the same place. */
  readonly moved: Moved | undefined;
}

interface Moved {
  readonly writer: AuditWriter;
  readonly place: AuditTarget;
  /** Whether requests wait until it is proven that records can be written. */
  readonly isDemanded: boolean;
}

/**
 * Makes one `Authorizer` per config, and keeps what they share: the rate counters, and the place of the audit records.
 */
export class AuthorizerFactory {
  readonly #options: AuthorizerFactoryOptions;
  #rates: Rates | undefined;
  #writer: Audit | undefined;
  #place: AuditTarget | undefined;
  readonly #closing = new Set<Promise<void>>();
  #names: UnmatchedNames | undefined;
  #probing = Promise.resolve();

  constructor(options: AuthorizerFactoryOptions) {
    this.#options = options;
    this.#writer = options.audit;
  }

  /** Changes nothing that is in force. */
  make(config: Config): PreparedAuthorizer {
    const { policy, generation, backends } = config;
    const options = this.#options;
    const world = worldOf(config);
    const now = () => options.clock.now();
    const rates =
      config.rates.length === 0 ? undefined : new Rates(config.rates, world, now, policy?.groupsClaim, this.#rates);
    const hasTrail = options.audit !== undefined || config.audit !== undefined;
    const warn = (text: string, facts: Readonly<Record<string, unknown>>) => options.log.warn(facts, text);
    const names = policy && new UnmatchedNames(policy, config.endpoints, warn);
    const authorizer = new Authorizer({
      policy: policy && compilePolicy(policy, world, generation),
      rates,
      records: hasTrail
        ? new AuditTrail({
            ...options,
            audit: this.#trail,
            isDemanded: config.audit?.onFailure === 'deny',
            arguments: config.audit?.arguments,
          })
        : undefined,
      generation,
      profiles: new Map(backends.flatMap(({ name, profile }) => (profile === undefined ? [] : [[name, profile]]))),
      unmatched: names,
      onDenied: (authorizationRequest, failure) =>
        options.refusals.tell({
          failure,
          endpoint: authorizationRequest.endpoint.path,
          principal: shownPrincipal(authorizationRequest.principal),
          action: authorizationRequest.row.action,
          backend: authorizationRequest.backend === '' ? undefined : authorizationRequest.backend,
          name: authorizationRequest.thing?.name,
        }),
    });
    return { authorizer, rates, names, moved: this.#moved(config) };
  }

  /** Puts it in force. Cannot fail. */
  adopt({ authorizer, rates, names, moved }: PreparedAuthorizer): Authorizer {
    this.#rates = rates;
    this.#names = names;
    if (moved !== undefined) {
      this.#retire(this.#writer);
      this.#writer = moved.writer;
      this.#place = moved.place;
      if (moved.isDemanded) this.#probing = moved.writer.probe();
    }
    return authorizer;
  }

  /** Resolves when it is known whether records can be written, where requests depend on that. */
  probed(): Promise<void> {
    return this.#probing;
  }

  /** A list of every backend behind the endpoint was read: rules may name things that are not in it. */
  read(endpoint: Endpoint, list: string | undefined, view: ListView): void {
    this.#names?.read(endpoint, list, view);
  }

  /** Also closes earlier places that are still being written to. */
  async close(withinMs: number): Promise<void> {
    await Promise.all([...this.#closing, this.#writer?.close(withinMs)]);
  }

  /** What was allowed under an earlier config is recorded when it is over, in the place that is current then. */
  readonly #trail: Audit = {
    write: (record, reserved) => this.#writer?.write(record, reserved),
    reserve: () => this.#writer?.reserve?.() ?? true,
    close: (withinMs) => this.close(withinMs),
  };

  #moved({ audit }: Config): Moved | undefined {
    if (this.#options.audit !== undefined || audit === undefined || isSame(this.#place, audit.to)) return undefined;
    return { writer: writerFor(audit.to, this.#options), place: audit.to, isDemanded: audit.onFailure === 'deny' };
  }

  #retire(writer: Audit | undefined): void {
    if (writer === undefined) return;
    const closing = writer.close(AUDIT_CLOSE_MS).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

const causes = {
  full: 'the place where they go does not keep up',
  failed: 'they could not be written',
} as const;

function writerFor(place: AuditTarget, options: AuthorizerFactoryOptions): AuditWriter {
  const { log, counters, clock, timeOfDay, stdoutIsProtocol } = options;
  const coalesced = new CoalescedLog({ log, after: (ms, action) => clock.after(ms, action) });
  return new AuditWriter({
    sink: auditSink(place, process, stdoutIsProtocol),
    now: timeOfDay,
    after: (ms, action) => clock.after(ms, action),
    lost: (count, why, cause) => {
      counters.count('audit.lost', count);
      const facts = { why, ...(cause instanceof Error && { cause: cause.message }) };
      coalesced.tell('warn', why, facts, `audit records were lost: ${causes[why]}`, count);
    },
  });
}
