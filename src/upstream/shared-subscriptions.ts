/**
 * Which clients of one shared session subscribed to which resources. The backend knows only one client, so its updates
 * are distributed here, and it gets an unsubscribe when the last subscriber leaves.
 */
import type { Notification } from '../wire/message.ts';
import { textMember } from '../wire/values.ts';

export class SharedSubscriptions<Client> {
  readonly #clients = new Map<string, Set<Client>>();

  /** False where the client was already subscribed. */
  add(uri: string, client: Client): boolean {
    const clients = this.#clients.get(uri) ?? new Set();
    this.#clients.set(uri, clients);
    const isNew = !clients.has(client);
    clients.add(client);
    return isNew;
  }

  /** Whether no subscriber is left. */
  remove(uri: string, client: Client): boolean {
    const clients = this.#clients.get(uri);
    clients?.delete(client);
    if (clients !== undefined && clients.size > 0) return false;
    this.#clients.delete(uri);
    return true;
  }

  /** Removes a client. Returns the URIs without subscribers. */
  leave(client: Client): readonly string[] {
    const its = [...this.#clients].filter(([, clients]) => clients.has(client)).map(([uri]) => uri);
    return its.filter((uri) => this.remove(uri, client));
  }

  /**
   * An update goes to the subscribers of the resource. A backend may also report a part of a subscribed resource
   * (2025-11-25, `ResourceUpdatedNotification`), and only the backend knows of which one: such an update goes to every
   * client with a subscription.
   */
  concerns(notification: Notification, client: Client): boolean {
    if (notification.method !== 'notifications/resources/updated') return true;
    const uri = textMember(notification.bytes, notification.params, 'uri');
    const named = uri === undefined ? undefined : this.#clients.get(uri);
    if (named !== undefined) return named.has(client);
    return [...this.#clients.values()].some((clients) => clients.has(client));
  }
}
