import type { ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { type BoundedPool, type HttpPoolLimits, HttpPools } from '../../../src/upstream/http/pool.ts';
import { SseChannel, type SseChannelOptions } from '../../../src/upstream/http/sse-channel.ts';
import { realClock } from './clock.ts';
import { anyFlood } from './processes.ts';
import { ChannelRecorder, NotesRecorder, RequestRecorder } from './recorders.ts';
import { type Answer, bare, poolLimits, ScriptedBackend } from './scripted-http.ts';

/**
 * What an HTTP+SSE server does: `stream` with each GET, and the nth of `posts` with the nth POST; the last one serves
 * the rest.
 */
export interface SseScript {
  readonly stream?: Answer;
  readonly posts?: readonly Answer[];
}

export const endpoint = (address = '/messages?session=1'): string => `event: endpoint\ndata: ${address}\n\n`;
export const message = (data: string): string => `event: message\ndata: ${data}\n\n`;

export const silent: Answer = () => undefined;
export const notification = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');
export const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}';

export class SseBackend extends ScriptedBackend {
  /** The answer to the newest GET, for what comes on it later. */
  readonly opened: () => ServerResponse;

  constructor({ stream, posts = [bare(202)] }: SseScript) {
    let newest: ServerResponse | undefined;
    let posted = 0;
    super([
      (response, heard, socket) => {
        if (heard.method === 'GET') {
          newest = response;
          (stream ?? names())(response, heard, socket);
        } else posts[Math.min(posted++, posts.length - 1)]?.(response, heard, socket);
      },
    ]);
    this.opened = () => {
      if (newest === undefined) throw new TypeError('no stream was opened');
      return newest;
    };
  }

  get posted(): { readonly url: string; readonly body: string }[] {
    return this.heard.filter(({ method }) => method === 'POST');
  }

  say(...events: readonly string[]): void {
    this.opened().write(events.join(''));
  }
}

/** Opens the stream, and names the address. */
export function names(address?: string, ...events: readonly string[]): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write([endpoint(address), ...events].join(''));
  };
}

export const sseLimits = { resultBytes: 64 * 1024, oneWayMs: 5_000, endpointMs: 7_000 };

export interface SseSetup {
  readonly backend: SseBackend;
  readonly url: URL;
  readonly pools: HttpPools;
  readonly sink: ChannelRecorder;
  readonly notes: NotesRecorder;
  open(): Promise<SseChannel>;
}

/** A backend, and the means to open channels to it. Ended when the test is over, and nothing may be left then. */
export async function scripted(
  script: SseScript,
  options: Partial<SseChannelOptions> = {},
  limits: Partial<HttpPoolLimits> = {},
): Promise<SseSetup> {
  const backend = new SseBackend(script);
  const url = await backend.start();
  const pools = new HttpPools({ url }, { ...poolLimits, ...limits });
  const sink = new ChannelRecorder();
  const notes = new NotesRecorder();
  const channels: SseChannel[] = [];
  onTestFinished(async () => {
    for (const channel of channels) await channel.close();
    await pools.close();
    await backend.until(() => backend.sockets.size === 0);
    await backend.stop();
    const { calls, streams, oneWay } = pools;
    if (calls.inFlight + streams.inFlight + oneWay.inFlight !== 0) throw new Error('a dispatch was never done');
  });
  return {
    backend,
    url,
    pools,
    sink,
    notes,
    open: async () => {
      const channel = await SseChannel.open({
        url,
        pools,
        headers: noHeaders,
        limits: sseLimits,
        flood: anyFlood(),
        clock: realClock,
        sink,
        notes,
        ...options,
      });
      channels.push(channel);
      return channel;
    },
  };
}

/** Nothing is under way there any more. */
export async function idle(pool: BoundedPool): Promise<void> {
  while (pool.inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
}

const noHeaders = {};

export function ask(channel: SseChannel, id: number) {
  const recorder = new RequestRecorder();
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'x' } }));
  return {
    recorder,
    pending: channel.request({ bytes, id: `n${id}`, headers: { 'mcp-protocol-version': '2025-06-18' } }, recorder),
  };
}
