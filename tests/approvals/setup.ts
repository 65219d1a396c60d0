/** Books of approvals over one store, as replicas have them, and calls to approve. */
import { ApprovalBook } from '../../src/approvals/book.ts';
import type { ApprovalQuestion, CallToApprove } from '../../src/approvals/ports.ts';
import { keyPrincipal } from '../../src/identity/principal.ts';
import { Redaction, usualSecrets } from '../../src/observe/audit-redact.ts';
import type { ApprovalDemand } from '../../src/policy/approval.ts';
import { MemoryBus } from '../../src/store/memory.ts';
import type { Records } from '../../src/store/ports.ts';
import { membersAt } from '../../src/wire/skim.ts';
import { member } from '../../src/wire/values.ts';

export interface Time {
  now: number;
}

export const APPROVAL_MS = 1_000;

/** A clock without timers: what is over is over by the time of day. */
export function bookOver(records: Records, time: Time, name: string): ApprovalBook {
  let ids = 0;
  return new ApprovalBook({
    limits: { approvalMs: APPROVAL_MS, approvalsPerPrincipal: 8, approvalsTotal: 20, parkedMs: APPROVAL_MS },
    records: async () => records,
    bus: new MemoryBus(),
    clock: { now: () => time.now, after: () => () => undefined, soon: (action) => setImmediate(action) },
    timeOfDay: () => time.now,
    secrets: () => Redaction.of(usualSecrets),
    newId: () => `${name}${++ids}`.padEnd(16, '0'),
    expired: (_question: ApprovalQuestion) => undefined,
  });
}

export interface CallWish {
  readonly who?: string;
  readonly client?: string | undefined;
  readonly endpoint?: string;
  readonly backend?: string;
  readonly name?: string;
  /** As they are written. */
  readonly arguments?: string;
  readonly demand?: Partial<ApprovalDemand>;
  /** Further members of `params`. */
  readonly more?: string;
}

export function callOf(wish: CallWish = {}): CallToApprove {
  const { who = 'agent', client = 'c/1', endpoint = '/mcp', backend = 'b', name = 'delete' } = wish;
  const bytes = Buffer.from(`{"name":${JSON.stringify(name)},"arguments":${wish.arguments ?? '{}'}${wish.more ?? ''}}`);
  const params = { start: 0, end: bytes.byteLength };
  return {
    ...{ principal: keyPrincipal({ id: who, name: who, scopes: [] }), client, endpoint, backend, method: 'tools/call' },
    ...{ name, own: name, bytes, params, arguments: member(membersAt(bytes, params), 'arguments') },
    rounds: 'retries',
    demand: { by: 'other', rules: ['ask'], text: 'rule', ...wish.demand },
  };
}
