/** The two official clients with one interface. Each speaks only its own era. The caller closes them. */
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
  LOG_LEVEL_META_KEY,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Json } from '../harness/client.ts';
import { equipV1, equipV2 } from '../harness/equip.ts';
import type { SdkClient } from '../harness/pairs.ts';
import type { Version } from './backends.ts';

/** Where the gateway is: an address, or a program to start. */
export type Door =
  | { readonly url: string }
  | { readonly command: string; readonly args: string[]; readonly cwd: string };

export interface Said {
  readonly method: string;
  readonly params: Json;
}

export interface CallOptions {
  onprogress?(progress: Json): void;
  readonly signal?: AbortSignal;
}

export interface Speaker {
  readonly client: SdkClient;
  /** What was asked of it, in order. */
  readonly asked: Said[];
  /** Notifications that it got, in order. */
  readonly heard: Said[];
  /** What it answers to each method: set by who expects to be asked. */
  answers: Readonly<Record<string, (params: Json) => object | Promise<object>>>;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Json>;
  /** From now on, with the least level of what it wants to hear. */
  level(level: string): Promise<void>;
  /** Hears of changes of the list of tools. */
  watchTools(): Promise<void>;
  watch(uri: string): Promise<{ end(): Promise<void> }>;
  close(): Promise<void>;
}

const self = { name: 'speaker', version: '1.0.0' };
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const asks = ['elicitation/create', 'sampling/createMessage', 'roots/list'];
const news = ['notifications/message', 'notifications/tools/list_changed', 'notifications/resources/updated'];

export function connect(version: Version, door: Door): Promise<Speaker> {
  return version === 'v1' ? connectLegacy(door) : connectModern(door);
}

async function connectLegacy(door: Door): Promise<Speaker> {
  const client = new ClientV1(self, { capabilities });
  const base = new Base();
  equipV1(client, base.words());
  const transport = 'url' in door ? new HttpV1(new URL(door.url)) : new StdioV1({ ...door, stderr: 'ignore' });
  await client.connect(transport as Parameters<ClientV1['connect']>[0]);
  return Object.assign(base, {
    client: client as SdkClient,
    call: (name: string, args = {}, options: CallOptions = {}) =>
      client.callTool({ name, arguments: args }, undefined, options),
    level: async (level: string) => void (await client.setLoggingLevel(level as 'info')),
    // It hears of them unasked.
    watchTools: async () => undefined,
    watch: async (uri: string) => {
      await client.subscribeResource({ uri });
      return { end: async () => void (await client.unsubscribeResource({ uri })) };
    },
    close: () => client.close(),
  });
}

async function connectModern(door: Door): Promise<Speaker> {
  const client = new ClientV2(self, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const base = new Base();
  equipV2(client, base.words());
  await client.connect('url' in door ? new HttpV2(new URL(door.url)) : new StdioV2({ ...door, stderr: 'ignore' }));
  let meta: { readonly _meta?: Record<string, unknown> } = {};
  return Object.assign(base, {
    client: client as SdkClient,
    call: (name: string, args = {}, options: CallOptions = {}) =>
      client.callTool({ name, arguments: args, ...meta }, options),
    level: async (level: string) => {
      meta = { _meta: { [LOG_LEVEL_META_KEY]: level } };
    },
    watchTools: async () => void (await client.listen({ toolsListChanged: true })),
    watch: async (uri: string) => {
      const subscription = await client.listen({ resourceSubscriptions: [uri] });
      return { end: () => subscription.close() };
    },
    close: () => client.close(),
  });
}

/** The server requests and notifications that it gets. */
class Base {
  readonly asked: Said[] = [];
  readonly heard: Said[] = [];
  answers: Speaker['answers'] = {};

  words() {
    const answer = (method: string) => (params: Json) => {
      this.asked.push({ method, params });
      const given = this.answers[method];
      if (given === undefined) throw new Error(`nobody expected ${method}`);
      return given(params);
    };
    const hear = (method: string) => (params: Json) => void this.heard.push({ method, params });
    return {
      answers: Object.fromEntries(asks.map((method) => [method, answer(method)])),
      hears: Object.fromEntries(news.map((method) => [method, hear(method)])),
    };
  }
}
