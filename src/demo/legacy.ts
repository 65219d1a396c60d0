/**
 * The legacy era, 2024-11-05 to 2025-11-25: a session that `initialize` opens and that lasts as long as the process.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle
 */
import { era, isRevision, newest, type Revision, revisions } from '../wire/revisions.ts';
import { type LogLevel, logLevelOf, openCall } from './call.ts';
import { capabilities, instructions, serverInfo } from './data.ts';
import { LegacyAsks } from './legacy-asks.ts';
import {
  codes,
  Failure,
  type JsonObject,
  notification,
  objectOf,
  type Request,
  type Response,
  type Send,
  textOf,
} from './message.ts';
import { methods } from './methods.ts';
import { resultFor } from './older.ts';
import { isListed, ResourceNotFound } from './resources.ts';
import { noticeOf, type World } from './world.ts';

const newestLegacy = newest(revisions, 'legacy') as Revision;

function negotiate(asked: string): Revision {
  return isRevision(asked) && era(asked) === 'legacy' ? asked : newestLegacy;
}

export class LegacySession {
  readonly revision: Revision;
  readonly #world: World;
  readonly #send: Send;
  readonly #asks: LegacyAsks;
  /** Only what is listed can be subscribed to, which bounds it. */
  readonly #subscribed = new Set<string>();
  /** Until the client says otherwise the server decides. */
  #threshold: LogLevel = 'info';

  constructor(params: JsonObject, world: World, send: Send) {
    this.revision = negotiate(textOf(params, 'protocolVersion'));
    this.#world = world;
    this.#send = send;
    this.#asks = new LegacyAsks(objectOf(params, 'capabilities', {}), send);
    world.onChange((change) => {
      if (change.kind === 'resource' && !this.#subscribed.has(change.uri)) return;
      const { method, params } = noticeOf(change);
      send(notification(method, params));
    });
  }

  /** The result of `initialize`. */
  get welcome(): JsonObject {
    return resultFor(this.revision, { protocolVersion: this.revision, serverInfo, capabilities, instructions });
  }

  settle(response: Response): void {
    this.#asks.settle(response);
  }

  async handle(request: Request, signal: AbortSignal): Promise<JsonObject> {
    const { method, params } = request;
    switch (method) {
      case 'initialize':
        throw new Failure(codes.invalidRequest, 'Session already initialized');
      case 'ping':
        return {};
      case 'logging/setLevel':
        this.#threshold = logLevelOf(params.level);
        return {};
      case 'resources/subscribe':
        this.#subscribe(textOf(params, 'uri'));
        return {};
      case 'resources/unsubscribe':
        this.#subscribed.delete(textOf(params, 'uri'));
        return {};
      default:
        return this.#shared(request, signal);
    }
  }

  #subscribe(uri: string): void {
    if (!isListed(uri, this.#world)) throw notFound(new ResourceNotFound(uri));
    this.#subscribed.add(uri);
  }

  async #shared({ method, params }: Request, signal: AbortSignal): Promise<JsonObject> {
    const found = methods.get(method);
    if (found === undefined) throw new Failure(codes.methodNotFound, `Method not found: ${method}`);
    const call = openCall({
      params,
      revision: this.revision,
      world: this.#world,
      signal,
      send: this.#send,
      ask: this.#asks.during(signal),
      threshold: this.#threshold,
    });
    try {
      return resultFor(this.revision, await found.run(call));
    } catch (error) {
      throw error instanceof ResourceNotFound ? notFound(error) : error;
    }
  }
}

function notFound({ message, data }: ResourceNotFound): Failure {
  return new Failure(codes.legacyResourceNotFound, message, data);
}
