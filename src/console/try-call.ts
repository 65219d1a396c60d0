/**
 * Tries a call as the operator: a modern request that takes the way of every request, from authentication on. No
 * stage is passed over, so what happens here is what happens to the operator's client.
 */
import { Failure } from '../errors/failure.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Outlet, Reply, Settlement } from '../exchange/outlet.ts';
import { within } from '../exchange/within.ts';
import { about } from '../wire/about.ts';
import { inOnePiece } from '../wire/compose.ts';
import { mirroredHeaders } from '../wire/mirror.ts';
import { newest } from '../wire/revisions.ts';
import { readMessage } from '../wire/scan.ts';
import { isObject } from '../wire/values.ts';
import { metaKeys } from '../wire/vocabulary.ts';
import { type ConsolePorts, ConsoleRefusal, type Operator } from './ports.ts';

/** A person waits for it. */
const TRY_MS = 60_000;
/** Messages before the response that are shown. */
const MESSAGES = 50;
/** Of a response: a page can show it, and `bascule call` can print it. Over the real endpoint it may be larger. */
const SHOWN = 1024 * 1024;
/** Of each message before it. */
const MESSAGE_BYTES = 64 * 1024;

export async function tryCall(ports: ConsolePorts, body: unknown, operator: Operator): Promise<object> {
  const { endpoint: path, tool, arguments: args } = readBody(body);
  const { credentials } = operator;
  if (credentials === undefined)
    throw new ConsoleRefusal(403, 'no_credentials', 'Sign in with an access key or a token: a call has to present one');
  const endpoint = ports.currentGeneration.now.endpoints.get(path);
  if (endpoint === undefined || endpoint.protocol !== undefined)
    throw new ConsoleRefusal(404, 'unknown_endpoint', `There is no MCP endpoint at ${path}`);
  const revision = newest(endpoint.profile.revisions, 'modern');
  if (revision === undefined)
    throw new ConsoleRefusal(409, 'legacy_endpoint', 'This endpoint admits no modern revision, which a try needs');
  const sender = await ports.gateway.authenticate(endpoint, credentials);
  if (sender instanceof Failure) return { outcome: 'refused', ...shownFailure(sender) };
  const params = {
    name: tool,
    arguments: args,
    _meta: {
      [metaKeys.protocolVersion]: revision,
      [metaKeys.clientInfo]: { name: 'bascule-console', version: about.version },
      [metaKeys.clientCapabilities]: {},
    },
  };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const { jsonDepth } = ports.currentGeneration.now.config.limits;
  const message = read(text, endpoint.profile.jsonDepth ?? jsonDepth);
  if (message instanceof Failure) return { outcome: 'refused', ...shownFailure(message) };
  const headers = mirroredHeaders('tools/call', tool, revision);
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const reply = new TriedReply();
  const began = ports.clock.now();
  ports.gateway.receive({
    endpoint,
    sender,
    header: (name) => lower.get(name),
    paramHeaders: undefined,
    requestId: undefined,
    message,
    reply,
  });
  const answer = await reply.within(ports.clock, TRY_MS);
  return { ...answer, messages: reply.messages, ms: ports.clock.now() - began };
}

interface TriedCall {
  readonly endpoint: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

function readBody(body: unknown): TriedCall {
  const { endpoint, tool, arguments: args = {} } = isObject(body) ? body : {};
  if (typeof endpoint !== 'string' || typeof tool !== 'string' || !isObject(args))
    throw new ConsoleRefusal(400, 'invalid_try', 'Send `endpoint` (a path), `tool` (a name) and `arguments` (a map)');
  return { endpoint, tool, arguments: args };
}

function read(text: string, depth: number): ReturnType<typeof readMessage> | Failure {
  try {
    return readMessage(Buffer.from(text), { depth });
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

type TriedAnswer = Readonly<Record<string, unknown>>;

/** Collects what a client would get. */
class TriedReply implements Reply {
  readonly messages: unknown[] = [];
  readonly #answer: Promise<TriedAnswer>;
  #settle: (answer: TriedAnswer) => void = () => undefined;
  #abandon: () => void = () => undefined;

  constructor() {
    this.#answer = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** After the time the call is cancelled, as if the client had gone away. */
  within(clock: Clock, ms: number): Promise<TriedAnswer> {
    return within(clock, ms, this.#answer, () => {
      this.#abandon();
      return { outcome: 'cancelled', message: `No answer within ${ms / 1000} s: the call was cancelled` };
    });
  }

  carry(): void {
    // There are no headers to add.
  }

  accepted(): void {
    this.#settle({ outcome: 'accepted' });
  }

  refuse(failure: Failure): void {
    this.#settle({ outcome: 'refused', ...shownFailure(failure) });
  }

  respond(bytes: Uint8Array): void {
    this.#settle(responseOf(bytes));
  }

  open(): readonly Outlet[] {
    return [
      {
        carries: true,
        send: (message) => {
          if (this.messages.length < MESSAGES) this.messages.push(messageOf(message));
        },
        settle: (settlement) => this.#settle(settled(settlement)),
        pause: () => undefined,
        onAbandoned: (listener) => {
          this.#abandon = listener;
        },
      },
    ];
  }
}

function messageOf(bytes: Uint8Array): unknown {
  if (bytes.byteLength > MESSAGE_BYTES) return `${bytes.byteLength} bytes: too many to show`;
  return JSON.parse(Buffer.from(bytes).toString());
}

function settled(settlement: Settlement): TriedAnswer {
  if (settlement.kind === 'failure') return { outcome: 'error', ...shownFailure(settlement.failure) };
  return settlement.kind === 'silence' ? { outcome: 'cancelled' } : responseOf(inOnePiece(settlement.bytes));
}

function responseOf(bytes: Uint8Array): TriedAnswer {
  if (bytes.byteLength > SHOWN)
    return { outcome: 'too-large', message: `The response has ${bytes.byteLength} bytes: at most ${SHOWN} are shown` };
  const response: unknown = JSON.parse(Buffer.from(bytes).toString());
  if (!isObject(response)) return { outcome: 'error', message: 'The response is not a JSON object' };
  return 'error' in response
    ? { outcome: 'error', error: response.error }
    : { outcome: 'result', result: response.result };
}

/** What a client is told, and no more. */
function shownFailure({ reason, message, data }: Failure): TriedAnswer {
  return { reason, message, data };
}
