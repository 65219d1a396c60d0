/**
 * `subscriptions/listen`: the streams on which modern clients hear of changes.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
import { BadValue, type Id, type JsonObject, notification, objectOf, type Send } from './message.ts';
import { isListed } from './resources.ts';
import { type Change, listKinds, noticeOf, type World } from './world.ts';

/** The part of the requested filter that we can keep: resources that don't exist don't change. */
function honoured(requested: JsonObject, world: World): JsonObject {
  const { resourceSubscriptions: uris } = requested;
  if (uris !== undefined && !Array.isArray(uris)) throw new BadValue('"resourceSubscriptions" must be an array');
  const lists = listKinds.map((list) => `${list}ListChanged`).filter((field) => requested[field] === true);
  const filter = Object.fromEntries(lists.map((field) => [field, true]));
  if (uris === undefined) return filter;
  const listed = [...new Set<unknown>(uris)].filter((uri) => typeof uri === 'string' && isListed(uri, world));
  return { ...filter, resourceSubscriptions: listed };
}

function admits(filter: JsonObject, change: Change): boolean {
  if (change.kind === 'list') return filter[`${change.list}ListChanged`] === true;
  return Array.isArray(filter.resourceSubscriptions) && filter.resourceSubscriptions.includes(change.uri);
}

export class Listens {
  readonly #open = new Set<Id>();
  readonly #world: World;
  readonly #send: Send;

  constructor(world: World, send: Send) {
    this.#world = world;
    this.#send = send;
  }

  /** Settles when the stream is over. A client that closes it gets no answer; when we do, `closeAll` has said so. */
  async listen(id: Id, params: JsonObject, signal: AbortSignal): Promise<void> {
    const filter = honoured(objectOf(params, 'notifications'), this.#world);
    const notify = (method: string, params: JsonObject): void =>
      this.#send(notification(method, { ...params, _meta: subscription(id) }));
    this.#open.add(id);
    notify('notifications/subscriptions/acknowledged', { notifications: filter });
    const changes = this.#world.onChange((change) => {
      const { method, params } = noticeOf(change);
      if (admits(filter, change)) notify(method, params);
    });
    await new Promise<void>((over) => {
      // In the same turn as the cancellation, after which nothing more may be sent.
      const end = (): void => {
        changes.stop();
        this.#open.delete(id);
        over();
      };
      signal.addEventListener('abort', end, { once: true });
    });
  }

  /**
   * Both are wanted of a server that ends a stream on stdio: the cancellation, and the result.
   * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
   */
  closeAll(result: JsonObject): void {
    for (const id of this.#open) {
      this.#send(notification('notifications/cancelled', { requestId: id, reason: 'The server shuts down' }));
      const meta = { ...objectOf(result, '_meta'), ...subscription(id) };
      this.#send({ jsonrpc: '2.0', id, result: { ...result, _meta: meta } });
    }
    this.#open.clear();
  }
}

function subscription(id: Id): JsonObject {
  return { 'io.modelcontextprotocol/subscriptionId': id };
}
