/** Logs refused requests: who was refused what, and why. Coalesced by address or principal; never contains a secret. */
import type { Failure } from '../errors/failure.ts';
import type { AuditRecord } from './audit.ts';
import type { CoalescedLog } from './coalesced.ts';
import type { LogMethod } from './log.ts';

/** `name` is as the client sent it. The principal replaces the address once it is known. */
export interface LoggedRefusal
  extends Partial<Pick<AuditRecord, 'endpoint' | 'address' | 'action' | 'backend' | 'name'>> {
  readonly failure: Failure;
  readonly principal?: string | undefined;
  readonly origin?: string | undefined;
  readonly path?: string | undefined;
}

/** Clients choose names and origins, of any length. */
const CHARACTERS = 256;

export class RefusalLog {
  readonly #log: CoalescedLog;

  constructor(log: CoalescedLog) {
    this.#log = log;
  }

  tell({ failure, ...about }: LoggedRefusal): void {
    const { reason } = failure;
    const facts: Record<string, string> = { reason };
    for (const [key, value] of Object.entries(about)) {
      if (value !== undefined) facts[key] = value.slice(0, CHARACTERS);
    }
    // Between processes of the gateway: it says which connection failed, and how.
    if (reason === 'owner_unavailable') facts.cause = String(failure.cause).slice(0, CHARACTERS);
    const who = about.principal ?? about.address ?? '';
    const text = `request refused: ${failure.message.slice(0, CHARACTERS)}`;
    this.#log.tell(levelOf(failure), `${reason} ${who}`, facts, text);
  }
}

/** Every sign-in begins without credentials. Wrong credentials and foreign pages may be an attack. */
function levelOf({ reason, row }: Failure): LogMethod {
  if (reason === 'credentials_missing') return 'info';
  return row.status === 401 || reason === 'origin_not_allowed' || reason === 'audit_unavailable' ? 'warn' : 'info';
}
