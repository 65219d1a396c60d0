/** An approved call as it is sent: with what the person was shown, and what the protocol itself adds. */
import { isAnswerMember } from '../bridge/input-required.ts';
import { type Raw, rewrite, spliceMessage } from '../wire/compose.ts';
import type { Request } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { traceKeys } from '../wire/trace-fields.ts';
import { isReservedMeta } from '../wire/vocabulary.ts';
import type { RequestContext } from './context.ts';

const kept: ReadonlySet<string> = new Set(['progressToken', ...traceKeys]);

/** `isAnswered`: the answers in it were for the gateway. The backend has asked nothing yet. */
export function sendAsApproved(context: RequestContext, isAnswered: boolean): void {
  const { resolved: target } = context;
  const message = approvedRequest(target.message, isAnswered);
  if (message === target.message) return;
  const { backend, name, names, asked } = target;
  context.target = {
    ...{ backend, names, message, asked },
    ...(name !== undefined && { name }),
    ...(target.renamed !== undefined && { renamed: (result) => target.renamed?.(result) ?? result }),
  };
}

/**
 * Clients give each call ids of their own in `_meta`, so an approval cannot be bound to it, and it is not shown. A
 * backend may read an argument there all the same: so it is not sent.
 */
function approvedRequest(request: Request, isAnswered: boolean): Request {
  const { bytes, params, meta } = request;
  const isUnshown = (key: string) => !isReservedMeta(key) && !kept.has(key);
  const hasUnshown = meta?.members.some(({ key }) => isUnshown(key)) === true;
  if (params === undefined || (!hasUnshown && !isAnswered)) return request;
  const set: Readonly<Record<string, Raw>> = hasUnshown ? { _meta: rewrite(bytes, meta, { drop: isUnshown }) } : {};
  const rest = rewrite(bytes, params, { set, drop: (key) => isAnswered && isAnswerMember(key) });
  return skimMessage(spliceMessage(request, [{ span: params, with: rest }])) as Request;
}
