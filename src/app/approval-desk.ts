/** Where approvals are kept, once a rule asks for one. */
import type { ApprovalPorts } from '../approvals/book.ts';
import type { Approvals } from '../approvals/ports.ts';
import { Redaction, usualSecrets } from '../observe/audit-redact.ts';
import type { CurrentGeneration } from '../pipeline/generation.ts';
import type { ApprovalDesk } from '../pipeline/services.ts';

export interface DeskOptions extends Omit<ApprovalPorts, 'secrets' | 'expired'> {
  readonly currentGeneration: CurrentGeneration;
  /** The address of the console. Undefined where there is none. */
  readonly consoleUrl: () => string | undefined;
}

export function approvalDesk({ currentGeneration, consoleUrl, ...ports }: DeskOptions): ApprovalDesk {
  let opened: Promise<Approvals> | undefined;
  return {
    open: () => {
      opened ??= import('../approvals/open.ts').then(({ openApprovals }) =>
        openApprovals({
          ...ports,
          secrets: () => {
            const own = currentGeneration.now.config.audit?.arguments?.redact ?? [];
            return Redaction.of([...usualSecrets, ...own]);
          },
          expired: ({ id, by, rules, endpoint, backend, name }) =>
            currentGeneration.now.authorizer.trail.answered({
              ...{ endpoint, backend, name, rules, reason: 'approval_expired' },
              approval: { id, step: 'answered', by, answer: 'expired' },
            }),
        }),
      );
      return opened;
    },
    pageOf: (id) => {
      const address = consoleUrl();
      return address && `${address}#/approvals/${id}`;
    },
  };
}
