/** The entry of this folder: loaded at the first question. Nothing of it is loaded where no rule asks. */
import { ApprovalBook, type ApprovalPorts } from './book.ts';
import type { Approvals } from './ports.ts';

export function openApprovals(ports: ApprovalPorts): Approvals {
  return new ApprovalBook(ports);
}
