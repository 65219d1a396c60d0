/** What the primary process and its workers ask each other. */
import type { ConfigSnapshot } from '../../app/reload/config-source.ts';
import type { IpcPeer } from '../../cluster/ipc.ts';
import type { CountQuestion } from '../../cluster/primary-counts.ts';
import type { Readiness } from '../../downstream/health.ts';
import type { AuditTarget } from '../../observe/audit.ts';
import type { TextFormat } from '../../observe/metrics/text.ts';

interface IpcQuestion<Ask, Answer> {
  readonly ask: Ask;
  readonly answer: Answer;
}

export interface NumberedSnapshot extends ConfigSnapshot {
  readonly generation: number;
}

/** What a worker starts with: the settings that need a restart are those of the first config. */
export interface StartConfig {
  readonly first: ConfigSnapshot;
  /** Absent: the first one is in force. */
  readonly latest?: NumberedSnapshot | undefined;
}

/** One worker, for `bascule status`. */
export interface WorkerStatus {
  readonly worker: number;
  /** `ready`, or what is wrong with it: see `WorkerState`. */
  readonly state: string;
  readonly pid?: number;
  /** Milliseconds since 1970. */
  readonly startedAt?: number;
  readonly generation?: number;
  readonly sessions?: number;
  /** Requests of clients that are being served. */
  readonly inFlight?: number;
}

export type OwnStatus = Omit<WorkerStatus, 'worker' | 'state'>;

export interface WorkerQuestions {
  // Asked by workers.
  readonly config: IpcQuestion<null, StartConfig>;
  /** Undefined: as before. The answer is for all workers. */
  readonly report: IpcQuestion<Readiness | undefined, Readiness>;
  readonly statuses: IpcQuestion<null, readonly WorkerStatus[]>;
  /** Answered once the lines are written. */
  readonly audit: IpcQuestion<{ readonly to: AuditTarget; readonly lines: string }, null>;
  readonly auditClose: IpcQuestion<AuditTarget, null>;
  readonly count: IpcQuestion<CountQuestion, unknown>;
  // Asked by the primary.
  readonly readiness: IpcQuestion<Readiness, null>;
  readonly status: IpcQuestion<null, OwnStatus>;
  readonly metrics: IpcQuestion<TextFormat, string>;
  readonly prepare: IpcQuestion<NumberedSnapshot, null>;
  readonly commit: IpcQuestion<null, null>;
  readonly abandon: IpcQuestion<null, null>;
}

export type WorkerPeer = IpcPeer<WorkerQuestions>;

/** A worker as the primary process has it. */
export interface Seated {
  readonly number: number;
  readonly peer: WorkerPeer;
  readonly pid: number | undefined;
  /** Ends it at once; it is replaced. */
  kill(): void;
}

/** What the primary process does for all workers. */
export interface PrimaryService {
  /** Its process was started. */
  joined(worker: Seated): void;
  /** Its process ended. */
  left?(worker: Seated): void;
}
