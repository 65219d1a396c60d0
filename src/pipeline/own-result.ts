/** Calls that the gateway answers itself. */
import type { CallStarter } from '../bridge/responder.ts';
import type { CallSink } from '../exchange/call.ts';
import { resultBytes } from '../wire/compose.ts';
import type { ResultResponse } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';

/** A call with this result, in the modern form. */
export function settledWith(result: object): CallStarter {
  return {
    start: (_request, sink) => {
      settle(sink, result);
      return { cancel: () => undefined };
    },
  };
}

export function settle(sink: CallSink, result: object): void {
  const message = skimMessage(resultBytes('0', JSON.stringify(result))) as ResultResponse;
  sink.settle({ kind: 'result', message, vocabulary: 'modern', screened: true });
}
