/**
 * What a legacy session knows of its tasks, so that what backends send about them reaches the client under the client's
 * names. Requests of the client need none of it: the id of a task says everything. So nothing of it is stored, and the
 * oldest makes room where there is too much.
 */
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { ServerRequest, ServerRequestReply } from '../exchange/call.ts';
import { type Raw, resultBytes, spliceMessage } from '../wire/compose.ts';
import type { Id, Notification } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import {
  hasRelatedTask,
  naming,
  relatedTask,
  statusOf,
  taskIdIn,
  taskStatus,
  withoutRelatedTask,
  withRelatedTask,
} from '../wire/tasks.ts';
import { idIn, member, slice } from '../wire/values.ts';

/** Some hundred bytes each. */
const TASKS = 1_024;

const keyOf = (backend: string, id: string) => JSON.stringify([backend, id]);

export class SessionTasks {
  /** By backend and its own id: the id that the client has. */
  readonly #ids = new BoundedMap<string>(TASKS);
  /** By backend and its token: the client's token. A token outlives the call that made the task. */
  readonly #tokens = new BoundedMap<Id>(TASKS);

  /** The client knows the backend's task `own` as `id`. */
  name(backend: string, own: string, id: string): void {
    this.#ids.set(keyOf(backend, own), id);
  }

  /** Progress under the backend's token `own` goes on after the task was made. */
  follow(backend: string, own: string, token: Id): void {
    this.#tokens.set(keyOf(backend, own), token);
  }

  /** What a backend says of its tasks, in the client's names; undefined where the client knows no such task. */
  translate(backend: string, said: Notification): Notification | undefined {
    if (said.method === taskStatus) {
      const id = this.#ids.get(keyOf(backend, taskIdIn(said) ?? ''));
      return id === undefined ? undefined : statusOf(said, id);
    }
    return this.#related(backend, said);
  }

  /** Translated progress of a task under the client's token; undefined where the token belongs to no task. */
  progress(backend: string, said: Notification): { readonly message: Uint8Array; readonly key: string } | undefined {
    const span = member(said.params, 'progressToken');
    const own = idIn(said, 'progressToken');
    const token = own && this.#tokens.get(keyOf(backend, own.key));
    if (span === undefined || token === undefined) return undefined;
    return { message: spliceMessage(said, [{ span, with: token.raw }]), key: token.key };
  }

  /** A server request of a task: the client gets its own id of the task, and the backend gets its own back. */
  ask(backend: string, ask: ServerRequest): ServerRequest {
    return namedTask(ask, this.#related(backend, ask.message));
  }

  #related<M extends Notification | ServerRequest['message']>(backend: string, message: M): M {
    if (!hasRelatedTask(message)) return message;
    const id = this.#ids.get(keyOf(backend, relatedTask(message) ?? ''));
    // The backend's own id means nothing to the client.
    return id === undefined ? withoutRelatedTask(message) : withRelatedTask(message, id);
  }
}

/** The server request with another form of its message. Its answer names the task as the backend does. */
export function namedTask(ask: ServerRequest, message: ServerRequest['message']): ServerRequest {
  const own = relatedTask(ask.message);
  if (message === ask.message) return ask;
  return {
    row: ask.row,
    message,
    trace: ask.trace,
    answer: (reply) => ask.answer(own === undefined ? reply : withOwnTask(reply, own)),
    handedOver: () => ask.handedOver?.(),
    onWithdrawn: (listener) => ask.onWithdrawn(listener),
  };
}

function withOwnTask(reply: ServerRequestReply, own: string): ServerRequestReply {
  if (!('result' in reply)) return reply;
  const message = skimMessage(resultBytes('0', reply.result));
  if (message.kind !== 'result') return reply;
  const named = naming(message, own);
  return { result: slice(named.bytes, named.result) satisfies Raw };
}
