/** Streamable HTTP, one connection for each exchange, so that nothing hides behind a kept connection. */
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { failureOfError } from '../../upstream/http/verdict.ts';
import { MessageReader } from './message-reader.ts';
import { type HeaderChanges, type Peer, type RequestId, readLimits, type SendOptions } from './peer.ts';
import { type Bytes, type HttpHead, type PeerFault, type PeerReply, shown } from './reply.ts';
import type { SecretMask } from './secrets.ts';

export interface HttpPeerOptions {
  readonly url: string;
  /** On every request to the server; a check or a step may replace them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly secrets: SecretMask;
}

export interface HttpExchange {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface WaitOptions extends Pick<HttpPeerOptions, 'timeoutMs' | 'secrets'> {
  readonly id?: RequestId | undefined;
  readonly until?: SendOptions['until'];
}

const postHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

export class HttpPeer implements Peer {
  readonly kind = 'http';
  readonly url: string;
  readonly #options: HttpPeerOptions;

  constructor(options: HttpPeerOptions) {
    this.#options = options;
    this.url = options.url;
  }

  send(text: string, { headers = {}, id, until }: SendOptions = {}): Promise<PeerReply> {
    return this.#exchange('POST', { ...postHeaders, ...headers }, { id, ...(until && { until }) }, text);
  }

  /** Opens a stream. It is left as soon as its headers have come, or with the message that `until` waits for. */
  get(headers: HeaderChanges, until: SendOptions['until'] = () => true): Promise<PeerReply> {
    return this.#exchange('GET', { accept: 'text/event-stream', ...headers }, { until });
  }

  /** Opens a stream, and reads it up to the answer to the request with this id. */
  resume(headers: HeaderChanges, id: RequestId): Promise<PeerReply> {
    return this.#exchange('GET', { accept: 'text/event-stream', ...headers }, { id });
  }

  /** A request without a body, read to its end. */
  bare(method: 'DELETE' | 'PUT', headers: HeaderChanges): Promise<PeerReply> {
    return this.#exchange(method, headers, {});
  }

  close(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  #exchange(method: string, changes: HeaderChanges, awaited: Partial<WaitOptions>, body?: string): Promise<PeerReply> {
    const { url, secrets, timeoutMs } = this.#options;
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries({ ...this.#options.headers, ...changes }))
      if (value !== undefined) headers[name] = value;
    const facts = { method, url, headers, ...(body === undefined ? {} : { body }) };
    return exchange(facts, { secrets, timeoutMs, ...awaited });
  }
}

/** The function of Node that makes requests to the address. */
export function requestTo(url: string): typeof plainRequest {
  return new URL(url).protocol === 'https:' ? tlsRequest : plainRequest;
}

/** One HTTP exchange. Never rejects, and never follows a redirect. */
export function exchange(sent: HttpExchange, awaited: WaitOptions): Promise<PeerReply> {
  const { timeoutMs, secrets } = awaited;
  return new Promise((resolve) => {
    const reader = new MessageReader(awaited.id, awaited.until);
    let response: IncomingMessage | undefined;
    let isDone = false;
    const finish = (isComplete: boolean, fault?: PeerFault): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      request.destroy();
      const head = response === undefined ? undefined : headOf(response, reader.text, isComplete);
      const bytes = { sent: sentText(sent, secrets), received: receivedText(head, response, secrets) };
      resolve(replyOf(reader, head, bytes, fault));
    };
    const fail = (error: unknown): void => finish(false, response === undefined ? unreachable(error) : cut());
    const timer = setTimeout(() => finish(false, late(timeoutMs, response !== undefined)), timeoutMs);
    const body = sent.body === undefined ? undefined : Buffer.from(sent.body);
    const length = body === undefined ? {} : { 'content-length': String(body.byteLength) };
    const request = requestTo(sent.url)(sent.url, {
      method: sent.method,
      headers: { ...sent.headers, ...length },
      agent: false,
    });
    request.on('error', fail);
    request.on('response', (incoming) => {
      response = incoming;
      reader.begin(incoming.headers['content-type'] ?? '');
      incoming.on('error', fail);
      incoming.on('data', (chunk: Buffer) => {
        if (reader.size + chunk.byteLength > readLimits.bytes) finish(false, tooLarge());
        else if (reader.push(chunk)) finish(false);
      });
      incoming.on('end', () => finish(true));
      incoming.on('close', () => finish(false, cut()));
      if (sent.method === 'GET' && awaited.until?.({}) === true) finish(false);
    });
    request.end(body);
  });
}

function replyOf(
  reader: MessageReader,
  http: HttpHead | undefined,
  bytes: Bytes,
  fault: PeerFault | undefined,
): PeerReply {
  const { answer, others } = reader;
  if (answer !== undefined) return { answer, others, http, bytes, fault: undefined };
  const isRedirect = http !== undefined && http.status >= 300 && http.status < 400;
  const why = isRedirect ? redirected(http) : (fault ?? reader.fault(http?.status));
  return { answer, others, http, bytes, fault: why };
}

function headOf({ statusCode = 0, headers }: IncomingMessage, body: string, isComplete: boolean): HttpHead {
  const texts = Object.entries(headers).map(([name, value]) => [name, [value ?? []].flat().join(', ')]);
  return { status: statusCode, headers: Object.fromEntries(texts), body, isComplete };
}

function sentText({ method, url, headers, body }: HttpExchange, secrets: SecretMask): string {
  const { host, pathname, search } = new URL(url);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${secrets.header(name, value)}`);
  const head = [`${method} ${secrets.hide(pathname + search)} HTTP/1.1`, `host: ${host}`, ...lines].join('\n');
  return body === undefined ? head : `${head}\n\n${shown(body, secrets)}`;
}

function receivedText(head: HttpHead | undefined, response: IncomingMessage | undefined, secrets: SecretMask): string {
  if (head === undefined) return '(nothing)';
  const lines = Object.entries(head.headers).map(([name, value]) => `${name}: ${secrets.header(name, value)}`);
  const status = `HTTP/${response?.httpVersion ?? '1.1'} ${head.status} ${secrets.hide(response?.statusMessage ?? '')}`;
  const text = [status.trimEnd(), ...lines].join('\n');
  return head.body === '' ? text : `${text}\n\n${shown(head.body, secrets)}`;
}

/** Names the class of the error, as the gateway does for its backends, and the error itself. */
export function unreachable(error: unknown): PeerFault {
  const { message, cure } = failureOfError(error);
  const text = error instanceof Error ? error.message : String(error);
  // The cures name settings of the config, which there is none of here.
  const here = cure?.replaceAll('`url`', 'the URL');
  return { finding: 'unreachable', detail: `${message.replace(/^[^:]*: /, '')}: ${text}`, cure: here };
}

function late(ms: number, hasHeaders: boolean): PeerFault {
  const detail = hasHeaders ? `no complete answer within ${ms} ms` : `no answer within ${ms} ms`;
  return { finding: 'timed_out', detail };
}

function cut(): PeerFault {
  return { finding: 'cut', detail: 'the connection was closed in the middle of the answer' };
}

function tooLarge(): PeerFault {
  return { finding: 'not_a_message', detail: `the answer has more than ${readLimits.bytes} bytes` };
}

function redirected({ status, headers }: HttpHead): PeerFault {
  return { finding: 'redirected', detail: `HTTP ${status} leads to ${headers.location ?? 'no address'}` };
}
