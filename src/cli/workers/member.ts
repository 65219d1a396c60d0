/** One worker: what it asks of the primary process, and answers. */
import type { Assembled } from '../../app/assemble.ts';
import { readinessOf } from '../../app/readiness.ts';
import type { ConfigSource } from '../../app/reload/config-source.ts';
import { withoutRestart } from '../../app/reload/differences.ts';
import { IpcPeer } from '../../cluster/ipc.ts';
import type { AskPrimary } from '../../cluster/primary-counts.ts';
import type { Seat } from '../../cluster/seat.ts';
import type { Config } from '../../config/config.ts';
import type { Loaded } from '../../config/load.ts';
import type { Readiness } from '../../downstream/health.ts';
import type { AuditTarget } from '../../observe/audit.ts';
import type { AuditSink } from '../../observe/audit-writer.ts';
import type { Counters } from '../../observe/counters.ts';
import type { Metrics } from '../../observe/metrics/metrics.ts';
import type { Operate } from '../control/server.ts';
import type { WorkerPeer, WorkerQuestions } from './questions.ts';
import { sinkAtPrimary } from './shared-audit.ts';
import { ReportedReadiness } from './shared-readiness.ts';
import { overviewOfAll } from './shared-status.ts';

/** The primary process answers at once, or after a reload that is under way. */
const CONFIG_MS = 30_000;
/** Those who count go on by themselves before that. */
const COUNT_MS = 5_000;

export interface MemberParts {
  readonly assembled: Assembled;
  readonly source: ConfigSource;
  readonly counters: Counters;
  readonly metrics: Metrics;
  readonly isOpen: () => boolean;
  /** Loads code that only this config needs. Undefined: there is none. */
  readonly loadFor: (config: Config) => Promise<void> | undefined;
}

export class WorkerMember {
  readonly seat: Seat;
  readonly #peer: WorkerPeer;
  #readiness: ReportedReadiness | undefined;

  constructor(seat: Seat) {
    this.seat = seat;
    // Without the primary process there would be two gateways at the next start.
    process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
    this.#peer = new IpcPeer<WorkerQuestions>({
      send: (message, sent) => process.send?.(message, undefined, {}, sent),
      on: (event: 'message' | 'disconnect', listener: (message: unknown) => void) => process.on(event, listener),
    });
  }

  /** The config that is in force at the other workers. Throws a ConfigError. */
  async load(source: ConfigSource): Promise<Loaded> {
    const { first, latest } = await this.#peer.ask('config', null, CONFIG_MS);
    const loaded = source.loadSnapshot(first, 1);
    if (latest === undefined) return loaded;
    const { config, notices } = source.loadSnapshot(latest, latest.generation);
    return { config: withoutRestart(loaded.config, config), notices };
  }

  readonly counts: AskPrimary = (question) => this.#peer.ask('count', question, COUNT_MS);

  auditSink(to: AuditTarget): AuditSink {
    return sinkAtPrimary(this.#peer, to);
  }

  /** From now on it answers. */
  serve(parts: MemberParts): void {
    const { assembled, metrics, isOpen } = parts;
    const startedAt = Date.now();
    this.#readiness = new ReportedReadiness(this.#peer, () => readinessOf(assembled, isOpen()));
    this.#reload(parts);
    this.#peer.answer('metrics', (format) => metrics.text(format));
    this.#peer.answer('status', () => ({
      ...{ pid: process.pid, startedAt, generation: assembled.config.generation },
      ...{ sessions: assembled.shared.sessions.size, inFlight: assembled.shared.work.running },
    }));
  }

  /** Of all workers. */
  get readiness(): Readiness {
    return this.#readiness?.now ?? { ready: false, backends: {} };
  }

  readinessChanged(): void {
    this.#readiness?.changed();
  }

  operateAll(operate: Operate): Operate {
    return overviewOfAll(operate, this.#peer);
  }

  close(): void {
    this.#readiness?.close();
  }

  #reload({ assembled, source, counters, loadFor }: MemberParts): void {
    let prepared: ReturnType<Assembled['prepare']> | undefined;
    const abandon = () => {
      prepared?.abandon();
      prepared = undefined;
      return null;
    };
    this.#peer.answer('prepare', async (latest) => {
      abandon();
      const { config } = source.loadSnapshot(latest, latest.generation);
      await loadFor(config);
      prepared = assembled.prepare(withoutRestart(assembled.config, config));
      return null;
    });
    this.#peer.answer('commit', () => {
      if (prepared === undefined) throw new Error('no config was prepared');
      prepared.commit();
      prepared = undefined;
      counters.count('config.reloaded');
      this.readinessChanged();
      return null;
    });
    this.#peer.answer('abandon', () => {
      counters.count('config.refused');
      return abandon();
    });
  }
}
