/** Everything that watches the gateway at work, as the two observers that the pipeline and the backends know. */
import type { BackendConfig } from '../config/config.ts';
import type { Failure } from '../errors/failure.ts';
import type { CallObserver, MessageObserver } from '../exchange/observer.ts';
import type { Backend } from '../exchange/upstream-session.ts';
import type { RpcObserver } from '../jsonrpc/ports.ts';
import type { RequestContext } from '../pipeline/context.ts';
import type { Session } from '../session/session.ts';

/** A request, or a server request, that the authorizer denied. */
export interface ObservedDenial {
  /** The path of the endpoint. */
  readonly endpoint: string;
  readonly failure: Failure;
  /** The rules that denied it. None where a profile, a rate or the audit trail did. */
  readonly rules: readonly string[];
}

/** Metrics, the request log, traces or the console: each is one of these. */
export interface Watcher {
  readonly messages?: MessageObserver<RequestContext> | undefined;
  /** Observes calls of JSON-RPC services that are not MCP. */
  readonly rpc?: RpcObserver | undefined;
  /** Observes the calls of one backend. */
  calls?(backend: BackendConfig): CallObserver;
  denied?(denial: ObservedDenial): void;
  /** A legacy session has ended, of which its client had been told. */
  sessionEnded?(session: Session, via: SessionTransport): void;
  /** Is told of each backend that is made: its state can be watched from then on. */
  made?(backend: Backend): void;
}

export type SessionTransport = 'http' | 'sse' | 'stdio';

export function messageObserver(watchers: readonly Watcher[]): MessageObserver<RequestContext> | undefined {
  return inOrder(watchers.flatMap(({ messages }) => (messages === undefined ? [] : [messages])));
}

export function rpcObserver(watchers: readonly Watcher[]): RpcObserver | undefined {
  return inOrder(watchers.flatMap(({ rpc }) => (rpc === undefined ? [] : [rpc])));
}

export function callObserver(watchers: readonly Watcher[], backend: BackendConfig): CallObserver | undefined {
  return inOrder(watchers.flatMap((watcher) => watcher.calls?.(backend) ?? []));
}

interface Observer<Subject, End> {
  began(subject: Subject): void;
  acknowledged?(subject: Subject): void;
  ended(subject: Subject, end: End): void;
}

function inOrder<Subject, End>(all: readonly Observer<Subject, End>[]): Observer<Subject, End> | undefined {
  const [first, ...others] = all;
  if (first === undefined || others.length === 0) return first;
  return {
    began: (subject) => {
      for (const observer of all) observer.began(subject);
    },
    acknowledged: (subject) => {
      for (const observer of all) observer.acknowledged?.(subject);
    },
    ended: (subject, end) => {
      for (const observer of all) observer.ended(subject, end);
    },
  };
}
