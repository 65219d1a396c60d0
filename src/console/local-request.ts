/** One modern request as the local user. No stage is passed over, so what happens here happens to clients, too. */
import { Failure } from '../errors/failure.ts';
import type { Gateway } from '../exchange/arrival.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Outlet, Reply, Settlement } from '../exchange/outlet.ts';
import { within } from '../exchange/within.ts';
import type { CurrentGeneration } from '../pipeline/generation.ts';
import { about } from '../wire/about.ts';
import { inOnePiece } from '../wire/compose.ts';
import { mirroredHeaders } from '../wire/mirror.ts';
import { newest } from '../wire/revisions.ts';
import { readMessage } from '../wire/scan.ts';
import { isObject } from '../wire/values.ts';
import { metaKeys } from '../wire/vocabulary.ts';

export type LocalGateway = Pick<Gateway, 'authenticate' | 'receive'>;

export interface LocalRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** What the request is about, for the header that repeats it. */
  readonly name?: string;
}

/** `refused`: before it reached a backend, or instead of it. */
export interface LocalAnswer {
  readonly outcome: 'result' | 'error' | 'refused' | 'cancelled';
  readonly result?: unknown;
  readonly error?: unknown;
  readonly reason?: string;
  readonly message?: string;
}

interface LocalPorts {
  readonly currentGeneration: CurrentGeneration;
  readonly gateway: LocalGateway;
  readonly clock: Clock;
}

/** A person waits for it. */
const ANSWER_MS = 60_000;

export async function askAsLocal(ports: LocalPorts, path: string, request: LocalRequest): Promise<LocalAnswer> {
  const endpoint = ports.currentGeneration.now.endpoints.get(path);
  if (endpoint === undefined || endpoint.protocol !== undefined)
    return { outcome: 'refused', reason: 'path_not_found', message: `There is no MCP endpoint at ${path}` };
  const revision = newest(endpoint.profile.revisions, 'modern');
  if (revision === undefined)
    return { outcome: 'refused', reason: 'legacy_endpoint', message: 'This endpoint admits no modern revision' };
  const sender = await ports.gateway.authenticate(endpoint, 'local');
  if (sender instanceof Failure) return refused(sender);
  const _meta = {
    [metaKeys.protocolVersion]: revision,
    [metaKeys.clientInfo]: { name: 'bascule-command', version: about.version },
    [metaKeys.clientCapabilities]: {},
  };
  const { method, params, name } = request;
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
  const headers = mirroredHeaders(method, name, revision);
  const lower = new Map(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]));
  const reply = new LocalReply();
  try {
    const { jsonDepth } = ports.currentGeneration.now.config.limits;
    const message = readMessage(Buffer.from(text), { depth: endpoint.profile.jsonDepth ?? jsonDepth });
    const header = (key: string) => lower.get(key);
    ports.gateway.receive({ endpoint, sender, header, paramHeaders: undefined, message, reply, requestId: undefined });
  } catch (error) {
    if (error instanceof Failure) return refused(error);
    throw error;
  }
  return reply.within(ports.clock, ANSWER_MS);
}

/** Takes what a client would get. */
class LocalReply implements Reply {
  readonly #answer: Promise<LocalAnswer>;
  #settle: (answer: LocalAnswer) => void = () => undefined;
  #abandon: () => void = () => undefined;

  constructor() {
    this.#answer = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** After the time the request is cancelled, as if the client had gone away. */
  within(clock: Clock, ms: number): Promise<LocalAnswer> {
    return within(clock, ms, this.#answer, (): LocalAnswer => {
      this.#abandon();
      return { outcome: 'cancelled', message: `No answer within ${ms / 1000} s: the request was cancelled` };
    });
  }

  carry(): void {
    // There are no headers to add.
  }

  accepted(): void {
    this.#settle({ outcome: 'cancelled', message: 'There is no response' });
  }

  refuse(failure: Failure): void {
    this.#settle(refused(failure));
  }

  respond(bytes: Uint8Array): void {
    this.#settle(responseOf(bytes));
  }

  open(): readonly Outlet[] {
    return [
      {
        // Progress and log messages have no reader here.
        carries: false,
        send: () => undefined,
        settle: (settlement) => this.#settle(settled(settlement)),
        pause: () => undefined,
        onAbandoned: (listener) => {
          this.#abandon = listener;
        },
      },
    ];
  }
}

function settled(settlement: Settlement): LocalAnswer {
  if (settlement.kind === 'failure') return { ...refused(settlement.failure), outcome: 'error' };
  if (settlement.kind === 'silence') return { outcome: 'cancelled', message: 'The request was cancelled' };
  return responseOf(inOnePiece(settlement.bytes));
}

function responseOf(bytes: Uint8Array): LocalAnswer {
  const response: unknown = JSON.parse(Buffer.from(bytes).toString());
  if (!isObject(response)) return { outcome: 'error', message: 'The response is no object' };
  return 'error' in response
    ? { outcome: 'error', error: response.error }
    : { outcome: 'result', result: response.result };
}

/** What a client is told, and no more. */
function refused({ reason, message }: Failure): LocalAnswer {
  return { outcome: 'refused', reason, message };
}
