/** The words in which a client is asked for an approval, and its answers. */
import type { CallToApprove, Preview } from '../approvals/ports.ts';
import { olderAsk } from '../bridge/revision-compat.ts';
import { Failure } from '../errors/failure.ts';
import type { ServerRequest } from '../exchange/call.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { ownRequest } from '../exchange/own-call.ts';
import type { Session } from '../session/session.ts';
import { missingFor } from '../wire/capabilities.ts';
import { concat, type Raw } from '../wire/compose.ts';
import { isObject } from '../wire/values.ts';
import { visible } from '../wire/visible.ts';
import type { RequestContext } from './context.ts';

export type ElicitedAnswer = 'accept' | 'decline';

/** A form without fields: what counts is whether the person accepts it. Works in every revision with elicitation. */
export function formOf(call: CallToApprove, { text }: Preview): object {
  const { demand } = call;
  const times = demand.forMs === undefined ? 'once' : `for ${demand.forMs / 60_000} min, with these arguments`;
  const message = `Allow ${shownCall(call)} ${times}?${text === '' ? '' : `\n\n${text}`}`;
  return { message, requestedSchema: { type: 'object', properties: {} } };
}

export function visitOf(call: CallToApprove, url: string): object {
  return {
    mode: 'url',
    url,
    message: `Another person has to approve ${shownCall(call)}. The page shows the question.`,
  };
}

/** Names are quoted: a tool's name must not pass for words of the gateway. */
export function shownCall({ method, name, backend }: Pick<CallToApprove, 'method' | 'name' | 'backend'>): string {
  const named = name === undefined ? method : `${method} ${JSON.stringify(name)}`;
  return visible(`${named} of the backend ${JSON.stringify(backend)}`);
}

/** Anything but an acceptance is a no. Undefined where it is no answer at all. */
export function answerIn(result: Raw): ElicitedAnswer | undefined {
  try {
    const value: unknown = JSON.parse(concat([result]).toString('utf8'));
    if (!isObject(value) || typeof value.action !== 'string') return undefined;
    return value.action === 'accept' ? 'accept' : 'decline';
  } catch {
    return undefined;
  }
}

const method = 'elicitation/create';

/** Whether a client of either era can be asked with these parameters. */
export function canElicit({ client, session, exchange }: RequestContext, params: object): boolean {
  const { capabilities, revision } = session?.client ?? client;
  if (missingFor({ method, params }, capabilities) !== undefined) return false;
  if (session === undefined) return true;
  return !(olderAsk(revision, method, params) instanceof Failure) && (exchange.carries || session.isReachable);
}

/** `late`: the client did not answer in time, or cannot any more. `gone`: the call was cancelled. */
type SessionAnswer = ElicitedAnswer | 'late' | 'gone';

export function elicitAtSession(
  session: Session,
  exchange: Exchange,
  params: object,
  signal: AbortSignal,
): Promise<SessionAnswer> {
  const route = (message: Uint8Array) => {
    if (exchange.carries && !exchange.settled) exchange.send(message, 'keep');
    else session.put(message);
  };
  return new Promise((resolve) => {
    const ask: ServerRequest = {
      ...ownRequest(method, params),
      answer: (reply) => {
        if ('failure' in reply) resolve('late');
        else resolve('result' in reply ? (answerIn(reply.result) ?? 'decline') : 'decline');
      },
      onWithdrawn: (withdraw) =>
        signal.addEventListener('abort', () => {
          withdraw();
          resolve('gone');
        }),
    };
    session.asks.relay(ask, route);
  });
}
