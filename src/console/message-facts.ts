/** What is recorded of a message: its name, its sender and its outcome, taken from the request context. */
import type { Failure } from '../errors/failure.ts';
import type { MessageEnding } from '../exchange/observer.ts';
import { shownPrincipal } from '../identity/principal.ts';
import { recordArguments, STARS, usualSecrets } from '../observe/audit-redact.ts';
import { masked } from '../observe/cause.ts';
import { clientName } from '../observe/client-names.ts';
import type { RequestContext } from '../pipeline/context.ts';
import { decidedRuling } from '../policy/authorization-request.ts';
import { Denied } from '../policy/refusals.ts';
import type { Ruling } from '../policy/ruling.ts';
import { inOnePiece } from '../wire/compose.ts';
import { textMember, valueAt } from '../wire/values.ts';
import type { RecordedBodies, RecordedFacts, RecordedOutcome } from './recorded-call.ts';

/** Names are the clients' choice: longer ones are cut. */
const NAME_LENGTH = 200;
/** Of one body: a person reads no more. */
const BODY_BYTES = 16 * 1024;
/** Longer ones are not even parsed: redacting a megabyte would stop everything else for a second. */
const READ_BYTES = 4 * BODY_BYTES;

export function messageFacts(context: RequestContext): RecordedFacts {
  // Stages that the message did not reach have left nothing.
  const { principal, message, session, era, endpoint, target, generation } = context;
  const client: RequestContext['client'] | undefined = context.client ?? session?.client;
  return {
    principalKey: principal.key,
    who: shownPrincipal(principal),
    sessionId: session?.id,
    client: clientName(client?.info),
    era,
    revision: client?.revision,
    endpoint: endpoint.path,
    method: 'method' in message ? cut(message.method) : message.kind,
    name: nameIn(context),
    backend: target?.backend ?? (endpoint.backends.length === 1 ? endpoint.backends[0] : undefined),
    generation: generation.config.generation,
  };
}

function nameIn({ message, row }: RequestContext): string | undefined {
  const key = (row as RequestContext['row'] | undefined)?.name;
  if (key === undefined || key === 'ref' || message.kind !== 'request') return undefined;
  const name = textMember(message.bytes, message.params, key);
  return name && cut(name);
}

/** A copy: part of a long text would keep the whole text in memory. */
function cut(text: string): string {
  return text.length <= NAME_LENGTH ? text : Buffer.from(`${text.slice(0, NAME_LENGTH)}…`).toString();
}

export function outcomeOf({ outcome, failure }: MessageEnding, isToolError: boolean): RecordedOutcome {
  if (failure instanceof Denied) return 'denied';
  if (failure !== undefined) return failure.row.blame === 'client' ? 'refused' : 'error';
  if (outcome === 'accepted') return 'ok';
  return outcome === 'result' ? (isToolError ? 'tool-error' : 'ok') : outcome;
}

/** Denials are decisions, not failures. */
export function isFailed(outcome: RecordedOutcome): boolean {
  return outcome === 'error' || outcome === 'tool-error';
}

/** How policy decided: the permit says it of what was allowed, and the denial, or its cause, of what was not. */
export function rulingOf(
  { authorization }: RequestContext,
  failure: Failure | undefined,
): Pick<Ruling, 'rules' | 'wouldDeny'> | undefined {
  const reached = authorization as RequestContext['authorization'] | undefined;
  if (!(failure instanceof Denied)) return reached && decidedRuling(reached);
  return failure.rules && { rules: failure.rules };
}

const redacted = recordArguments({ of: ['*'], redact: usualSecrets, maxBytes: BODY_BYTES });

/** Redacted before they are kept: what is stored has no secret that goes by a common name. */
export function bodiesOf({ message }: RequestContext, { response, failure }: MessageEnding): RecordedBodies {
  const params = message.kind === 'request' ? message.params : undefined;
  const bytes = response && inOnePiece(response);
  return {
    request: params && shownBody(params.end - params.start, () => valueAt(message.bytes, params)),
    response: bytes
      ? shownBody(bytes.byteLength, () => JSON.parse(Buffer.from(bytes).toString()))
      : failure && shownBody(0, () => ({ error: failure.message, reason: failure.reason, data: failure.data })),
  };
}

/** `size`: in bytes, before it is parsed. */
function shownBody(size: number, value: () => unknown): string | undefined {
  if (size > READ_BYTES) return JSON.stringify({ [STARS]: `${size} bytes` }, undefined, 1);
  try {
    const shown = redacted('*', value);
    return JSON.stringify(shown, (_key, text) => (typeof text === 'string' ? masked(text) : text), 1);
  } catch {
    return undefined;
  }
}
