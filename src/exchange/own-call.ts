/** Requests that the gateway makes for itself, or in a client's place. */
import { Failure } from '../errors/failure.ts';
import { readCapabilities } from '../wire/capabilities.ts';
import { requestBytes } from '../wire/compose.ts';
import type { Request, ResultResponse } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { newest, type Revision, revisions } from '../wire/revisions.ts';
import { readMessage } from '../wire/scan.ts';
import type { Call, CallRequest, CallSink, ClientFacts } from './call.ts';

/** The gateway's own requests nest only a few levels deep. */
const DEPTH = 16;

/** The gateway as a client: it declares no capabilities, so it answers no server requests. */
export const ourselves: ClientFacts = {
  revision: newest(revisions) as Revision,
  info: undefined,
  capabilities: readCapabilities({}),
};

export function ownRequest(method: string, params: object, client: ClientFacts = ourselves): CallRequest {
  const row = methodRow(method) as MethodRow;
  const message = readMessage(requestBytes('1', method, JSON.stringify(params)), { depth: DEPTH }) as Request;
  return { row, message, client, progress: false, logLevel: undefined };
}

/** Makes a request and waits for its result. Server requests are refused. Rejects with a Failure. */
export function callOnce(start: (sink: CallSink) => Call): Promise<ResultResponse> {
  return new Promise((resolve, reject) => {
    start({
      notify: () => undefined,
      ask: (ask) => ask.answer({ failure: new Failure('ask_not_supported') }),
      pause: () => undefined,
      settle: (outcome) => {
        if (outcome.kind === 'result') resolve(outcome.message);
        else if (outcome.kind === 'failure') reject(outcome.failure);
        else reject(new Failure('backend_invalid', { message: 'The backend refused a request of the gateway' }));
      },
    });
  });
}
