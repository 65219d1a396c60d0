/**
 * The modern era, 2026-07-28: every request says in its `_meta` all that must be known to serve it, and nothing is
 * remembered between requests.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta
 */
import { type Revision, revisions } from '../wire/revisions.ts';
import { type LogLevel, logLevelOf, openCall } from './call.ts';
import { capabilities, identity, instructions, serverInfo } from './data.ts';
import { Listens } from './listens.ts';
import { codes, Failure, isObject, type JsonObject, objectOf, type Request, type Send, textOf } from './message.ts';
import { type Freshness, fixed, methods } from './methods.ts';
import { askInRounds, InputRequired } from './rounds.ts';
import type { World } from './world.ts';

const revision: Revision = '2026-07-28';

/** Newest first. A client that begins with `initialize` gets a legacy one. */
const supported = [...revisions].reverse();

const meta = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
} as const;

interface Envelope {
  readonly clientCapabilities: JsonObject;
  readonly threshold: LogLevel | undefined;
}

/** One of the two required members is enough to know what was meant, and to say what is missing. */
export function isModern({ params }: Request): boolean {
  const { _meta } = params;
  return isObject(_meta) && (meta.protocolVersion in _meta || meta.clientCapabilities in _meta);
}

function envelopeOf(params: JsonObject): Envelope {
  const given = objectOf(params, '_meta');
  const requested = textOf(given, meta.protocolVersion);
  if (requested !== revision) {
    throw new Failure(codes.unsupportedVersion, 'Unsupported protocol version', { supported, requested });
  }
  const clientCapabilities = objectOf(given, meta.clientCapabilities);
  const level = given[meta.logLevel];
  return { clientCapabilities, threshold: level === undefined ? undefined : logLevelOf(level) };
}

function complete(result: object, info: object = identity, freshness?: Freshness): JsonObject {
  return { resultType: 'complete', ...result, ...freshness, _meta: { [meta.serverInfo]: info } };
}

export class Modern {
  readonly #world: World;
  readonly #send: Send;
  readonly #listens: Listens;

  constructor(world: World, send: Send) {
    this.#world = world;
    this.#send = send;
    this.#listens = new Listens(world, send);
  }

  async handle(request: Request, signal: AbortSignal): Promise<JsonObject> {
    const envelope = envelopeOf(request.params);
    switch (request.method) {
      case 'server/discover':
        return complete({ supportedVersions: supported, capabilities, instructions }, serverInfo, fixed);
      case 'subscriptions/listen':
        await this.#listens.listen(request.id, request.params, signal);
        return complete({});
      default:
        return this.#shared(request, envelope, signal);
    }
  }

  close(): void {
    this.#listens.closeAll(complete({}));
  }

  async #shared({ method, params }: Request, envelope: Envelope, signal: AbortSignal): Promise<JsonObject> {
    const found = methods.get(method);
    if (found === undefined) throw new Failure(codes.methodNotFound, `Method not found: ${method}`);
    const call = openCall({
      params,
      revision,
      world: this.#world,
      signal,
      send: this.#send,
      ask: askInRounds(params, envelope.clientCapabilities),
      threshold: envelope.threshold,
    });
    try {
      return complete(await found.run(call), identity, found.freshness);
    } catch (error) {
      if (error instanceof InputRequired) return { ...error.result, _meta: { [meta.serverInfo]: identity } };
      throw error;
    }
  }
}
