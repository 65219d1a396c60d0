/** Everything that watches the gateway at work, as the two observers that the pipeline and the backends know. */
import type { BackendConfig } from '../config/config.ts';
import type { CallObserver, MessageObserver } from '../exchange/observer.ts';
import type { RequestContext } from '../pipeline/context.ts';

/** Metrics, the request log, traces or the console: each is one of these. */
export interface Watcher {
  readonly messages?: MessageObserver<RequestContext> | undefined;
  /** Observes the calls of one backend. */
  calls?(backend: BackendConfig): CallObserver;
}

export function messageObserver(watchers: readonly Watcher[]): MessageObserver<RequestContext> | undefined {
  return inOrder(watchers.flatMap(({ messages }) => (messages === undefined ? [] : [messages])));
}

export function callObserver(watchers: readonly Watcher[], backend: BackendConfig): CallObserver | undefined {
  return inOrder(watchers.flatMap((watcher) => watcher.calls?.(backend) ?? []));
}

interface Observer<Subject, End> {
  began(subject: Subject): void;
  ended(subject: Subject, end: End): void;
}

function inOrder<Subject, End>(all: readonly Observer<Subject, End>[]): Observer<Subject, End> | undefined {
  const [first, ...others] = all;
  if (first === undefined || others.length === 0) return first;
  return {
    began: (subject) => {
      for (const observer of all) observer.began(subject);
    },
    ended: (subject, end) => {
      for (const observer of all) observer.ended(subject, end);
    },
  };
}
