/**
 * Which clients of one shared session subscribed to which resources. The backend knows of one client only, so what it tells
 * is handed to those who asked for it, and a subscription is taken back when the last of them does.
 */
import type { Notification } from '../wire/message.ts';
import { member, stringAt } from '../wire/values.ts';

export class SharedSubscriptions<Client> {
  readonly #clients = new Map<string, Set<Client>>();

  /** False where the client had it already. */
  add(uri: string, client: Client): boolean {
    const clients = this.#clients.get(uri) ?? new Set();
    this.#clients.set(uri, clients);
    const isNew = !clients.has(client);
    clients.add(client);
    return isNew;
  }

  /** Whether nobody is left who wants it. */
  remove(uri: string, client: Client): boolean {
    const clients = this.#clients.get(uri);
    clients?.delete(client);
    if (clients !== undefined && clients.size > 0) return false;
    this.#clients.delete(uri);
    return true;
  }

  /** What nobody wants any more without the client. */
  leave(client: Client): readonly string[] {
    const its = [...this.#clients].filter(([, clients]) => clients.has(client)).map(([uri]) => uri);
    return its.filter((uri) => this.remove(uri, client));
  }

  /**
   * A change of a resource is for those who subscribed to it. A backend may also tell of a part of what was subscribed to
   * (2025-11-25, `ResourceUpdatedNotification`), and only it knows of what: then for all who subscribed to anything.
   */
  concerns(notification: Notification, client: Client): boolean {
    if (notification.method !== 'notifications/resources/updated') return true;
    const span = member(notification.params, 'uri');
    const uri = span && stringAt(notification.bytes, span);
    const named = uri === undefined ? undefined : this.#clients.get(uri);
    if (named !== undefined) return named.has(client);
    return [...this.#clients.values()].some((clients) => clients.has(client));
  }
}
