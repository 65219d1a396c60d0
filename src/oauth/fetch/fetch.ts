/**
 * The one `fetch` for addresses that a third party named: client ID metadata documents, the metadata of authorization
 * servers, and the keys that those name. The third party must not reach internal hosts through us
 * (draft-ietf-oauth-client-id-metadata-document, "Server Side Request Forgery (SSRF) Attacks").
 */
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import request from 'undici/lib/api/api-request.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import { ACCEPTED_CODINGS, readBody } from './body.ts';
import { createConnector } from './connector.ts';
import { OutwardError, type OutwardErrorKind } from './errors.ts';
import { TargetFilter } from './targets.ts';

/** The part of the platform's `fetch` that OAuth libraries call. */
export type OutwardFetch = (url: string | URL, init?: OutwardInit) => Promise<Response>;

/** All other options, such as `redirect` and `dispatcher`, are ignored. */
export interface OutwardInit {
  readonly method?: string | undefined;
  readonly headers?: RequestInit['headers'] | undefined;
  readonly body?: RequestInit['body'] | undefined;
  readonly signal?: AbortSignal | null | undefined;
}

/** Limits of a request to an address that a third party named. The documents are small, and a person waits. */
const outwardLimits = {
  urlBytes: 2048,
  /** To establish a connection: DNS, TCP and TLS. */
  connectMs: 5_000,
  headersMs: 5_000,
  /** From the call to the last byte. */
  totalMs: 10_000,
  headerBytes: 16 * 1024,
  /** Of a response, before and after decompression. */
  bodyBytes: 256 * 1024,
  /** Of a request body. */
  sentBytes: 64 * 1024,
  /** In flight at once. Further requests are refused rather than queued, since third parties could fill any queue. */
  requests: 64,
  /** In flight to one host: a slow host must not use up all slots. */
  requestsPerHost: 8,
};
type OutwardLimits = Readonly<typeof outwardLimits>;

export interface OutwardOptions {
  readonly allowLoopback?: boolean;
  /** Internal hosts, addresses and ranges that may be reached. */
  readonly allow?: readonly string[];
  readonly limits?: Partial<OutwardLimits>;
  /** Resolves a host name. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** Certificate authorities in PEM, instead of the platform's. */
  readonly ca?: string;
}

export interface Outward {
  readonly fetch: OutwardFetch;
  close(): Promise<void>;
}

/** Request headers that a caller cannot set: they belong to our connection. */
const OURS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'expect',
  'upgrade',
]);

/** Response headers that are dropped: they describe the bytes as transferred, before decoding. */
const AS_IT_CAME = new Set(['content-length', 'content-encoding', 'transfer-encoding', 'connection', 'keep-alive']);

const NOT_MODIFIED = 304;

const KINDS: Readonly<Record<string, OutwardErrorKind>> = {
  UND_ERR_CONNECT_TIMEOUT: 'too_slow',
  UND_ERR_HEADERS_TIMEOUT: 'too_slow',
  UND_ERR_BODY_TIMEOUT: 'too_slow',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
};

export function createOutwardFetch(options: OutwardOptions = {}): Outward {
  const limits = { ...outwardLimits, ...options.limits };
  const { allowLoopback = false, allow = [] } = options;
  const targets = new TargetFilter({ allowLoopback, allow, urlBytes: limits.urlBytes });
  const places = new RequestSlots(limits.requests, limits.requestsPerHost);
  const agent = new Agent({
    connect: createConnector({
      timeout: limits.connectMs,
      // The only DNS lookup: the addresses that were checked are those that are connected to, so rebinding has no
      // effect.
      lookup: checkedLookup(targets, options.resolve ?? resolveByPlatform),
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    }),
    connections: limits.requestsPerHost,
    headersTimeout: limits.headersMs,
    bodyTimeout: limits.totalMs,
    maxHeaderSize: limits.headerBytes,
  });

  const fetch: OutwardFetch = async (address, init = {}) => {
    const url = targets.parse(String(address));
    const leave = places.enter(url.hostname);
    const overdue = AbortSignal.timeout(limits.totalMs);
    const signals = init.signal == null ? [overdue] : [overdue, init.signal];
    try {
      const sent = await prepare(url, init, limits);
      const { origin, pathname, search } = url;
      const asked = { ...sent, origin, path: `${pathname}${search}`, signal: AbortSignal.any(signals) };
      return await answer(await request.call(agent, asked), limits);
    } catch (error) {
      // Like the platform's `fetch`: an aborted caller gets its own reason.
      if (init.signal?.aborted === true) throw init.signal.reason;
      throw overdue.aborted
        ? new OutwardError('too_slow', `no response within ${limits.totalMs} ms`, error)
        : named(error);
    } finally {
      leave();
    }
  };
  return { fetch, close: () => agent.destroy() };
}

async function prepare(url: URL, init: OutwardInit, limits: OutwardLimits) {
  // The platform's `Request` normalizes the many forms of headers and body.
  const { method, headers, body } = init;
  const given = new Request(url, {
    ...(method === undefined ? {} : { method }),
    ...(headers === undefined ? {} : { headers }),
    ...(body == null ? {} : { body }),
  });
  const bytes = given.body === null ? null : new Uint8Array(await given.arrayBuffer());
  if (bytes !== null && bytes.byteLength > limits.sentBytes)
    throw new OutwardError('too_large', `the request has more than ${limits.sentBytes} bytes`);
  const kept = [...given.headers].filter(([name, value]) => !OURS.has(name) && value !== '');
  return {
    method: given.method as Dispatcher.HttpMethod,
    headers: { ...Object.fromEntries(kept), 'accept-encoding': ACCEPTED_CODINGS },
    body: bytes,
  };
}

/** Reads the body here rather than in the caller, so that its cost is bounded in one place. */
async function answer(response: Dispatcher.ResponseData, limits: OutwardLimits): Promise<Response> {
  const { statusCode, headers, body } = response;
  try {
    if (statusCode >= 300 && statusCode < 400 && statusCode !== NOT_MODIFIED)
      throw new OutwardError('redirected', `the response is a redirect (${statusCode}), which is not followed`);
    const bytes = await readBody(body, headers['content-encoding']?.toString(), limits.bodyBytes);
    const shown = new Headers();
    for (const [name, value] of Object.entries(headers))
      if (!AS_IT_CAME.has(name)) for (const one of [value ?? []].flat()) shown.append(name, one);
    return new Response(bytes.byteLength === 0 ? null : new Uint8Array(bytes), { status: statusCode, headers: shown });
  } finally {
    // No effect after the end; before it, stops reading.
    body.on('error', () => undefined).destroy();
  }
}

function checkedLookup(targets: TargetFilter, resolve: (host: string) => Promise<readonly string[]>): LookupFunction {
  return (host, { all }, callback) => {
    const checked = async () => {
      const addresses = await resolve(host);
      if (addresses.length === 0) throw new OutwardError('address_unreachable', `${host} has no address`);
      targets.check(host, addresses);
      return addresses.map((address) => ({ address, family: isIP(address) }));
    };
    checked().then(
      (found) => (all === true ? callback(null, found) : callback(null, found[0]?.address ?? '', found[0]?.family)),
      (error: Error) => callback(error, []),
    );
  };
}

async function resolveByPlatform(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function named(error: unknown): OutwardError {
  if (error instanceof OutwardError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return new OutwardError(KINDS[code] ?? 'address_unreachable', 'the address does not respond', error);
}

/** Limits the requests in flight, in total and by host. */
class RequestSlots {
  readonly #most: number;
  readonly #mostPerHost: number;
  readonly #hosts = new Map<string, number>();
  #taken = 0;

  constructor(most: number, mostPerHost: number) {
    this.#most = most;
    this.#mostPerHost = mostPerHost;
  }

  /** Takes a slot. Returns the function that releases it, to be called once. */
  enter(host: string): () => void {
    const here = this.#hosts.get(host) ?? 0;
    if (this.#taken >= this.#most || here >= this.#mostPerHost)
      throw new OutwardError('busy', 'too many requests to other servers are running');
    this.#taken++;
    this.#hosts.set(host, here + 1);
    return () => {
      this.#taken--;
      const left = (this.#hosts.get(host) ?? 1) - 1;
      if (left === 0) this.#hosts.delete(host);
      else this.#hosts.set(host, left);
    };
  }
}
