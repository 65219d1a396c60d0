/** Translates a backend's results and notifications into the names that the client knows. */
import type { ResolvedTarget } from '../../catalog/name-resolver.ts';
import type { CallSink } from '../../exchange/call.ts';
import type { Notification } from '../../wire/message.ts';

/** `translate` returns what to pass on of a notification, if anything. */
export function inClientNames(
  sink: CallSink,
  { renamed: rename }: ResolvedTarget,
  translate?: (notification: Notification) => Notification | undefined,
): CallSink {
  if (rename === undefined && translate === undefined) return sink;
  return {
    notify: (notification) => {
      const passed = translate === undefined ? notification : translate(notification);
      if (passed !== undefined) sink.notify(passed);
    },
    ask: (ask) => sink.ask(ask),
    pause: (retryMs) => sink.pause(retryMs),
    settle: (outcome) => {
      if (outcome.kind !== 'result' || rename === undefined) sink.settle(outcome);
      else sink.settle({ ...outcome, message: rename(outcome.message) });
    },
  };
}
