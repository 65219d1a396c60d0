/**
 * Which records may wait while the sink is too slow. The first half of the queue is open to all. In the second half a
 * principal gets at most an eighth of the queue, so that one that floods takes no space from others. The last quarter
 * is for allowed requests, so that denied ones cannot displace the record of what was done.
 */
import type { AuditedPrincipal, AuditRecord } from './audit.ts';

const SHARED_PART = 1 / 2;
const PRINCIPAL_PART = 1 / 8;
const DENIED_PART = 3 / 4;

export interface WaitingRecord {
  readonly line: string;
  readonly principal: AuditedPrincipal;
}

export class AuditRoom {
  readonly #queueBytes: number;
  /** Bytes by principal. Created only once the shared half is full: most queues never are. */
  #own: Map<string, number> | undefined;

  constructor(queueBytes: number) {
    this.#queueBytes = queueBytes;
  }

  /** `taken`: bytes of waiting records and of reservations. */
  admits(
    { decision, principal }: Pick<AuditRecord, 'decision' | 'principal'>,
    bytes: number,
    taken: number,
    waiting: readonly WaitingRecord[],
  ): boolean {
    const total = taken + bytes;
    if (total <= this.#queueBytes * SHARED_PART) return true;
    if (total > this.#queueBytes * (decision === 'deny' ? DENIED_PART : 1)) return false;
    const own = this.#counted(waiting);
    const key = ownerOf(principal);
    const held = own.get(key) ?? 0;
    if (held + bytes > this.#queueBytes * PRINCIPAL_PART) return false;
    own.set(key, held + bytes);
    return true;
  }

  empty(): void {
    this.#own = undefined;
  }

  #counted(waiting: readonly WaitingRecord[]): Map<string, number> {
    if (this.#own !== undefined) return this.#own;
    this.#own = new Map();
    for (const { line, principal } of waiting) {
      const key = ownerOf(principal);
      this.#own.set(key, (this.#own.get(key) ?? 0) + line.length);
    }
    return this.#own;
  }
}

/** Without the OAuth client: a person may register many. */
function ownerOf({ kind, issuer, subject, key }: AuditedPrincipal): string {
  return JSON.stringify([kind, issuer, subject, key]);
}
