/**
 * A pair of one era: an official client and an official server with the same interface, and a gateway between them. One
 * test serves both eras.
 */
import { onTestFinished } from 'vitest';
import type { Era } from '../../../src/wire/revisions.ts';
import { type Json, until } from './client.ts';
import { equipV1, equipV2, type Words } from './equip.ts';
import { openFront } from './front.ts';
import { ClientV1, ClientV2, connectV1, connectV2, type ListChanged } from './sdk.ts';
import {
  type Answers,
  type Description,
  McpServerV1,
  type McpServerV2,
  plainV1,
  plainV2,
  type ServerV1,
  type ServerV2,
  serveV1,
  serveV2,
  type Talk,
} from './sdk-servers.ts';

/** What both official clients can do in the same words. */
export interface SdkClient {
  getServerCapabilities(): Json;
  getServerVersion(): Json;
  getInstructions(): string | undefined;
  listTools(params?: { cursor?: string }): Promise<Json>;
  callTool(params: {
    name: string;
    arguments?: Record<string, unknown>;
    _meta?: Record<string, unknown>;
  }): Promise<Json>;
  listResources(params?: { cursor?: string }): Promise<Json>;
  listResourceTemplates(params?: { cursor?: string }): Promise<Json>;
  readResource(params: { uri: string; _meta?: Record<string, unknown> }): Promise<Json>;
  listPrompts(params?: { cursor?: string }): Promise<Json>;
  getPrompt(params: {
    name: string;
    arguments?: Record<string, string>;
    _meta?: Record<string, unknown>;
  }): Promise<Json>;
  complete(params: Json): Promise<Json>;
}

/** What a server got, in order. */
export interface Seen {
  readonly method: string;
  readonly params: Json;
}

export interface Announcer {
  tools(): void;
  prompts(): void;
  resources(): void;
  updated(uri: string): void;
}

export interface ConnectOptions extends Words {
  readonly capabilities?: Record<string, object>;
  readonly listChanged?: ListChanged;
}

export interface CallOptions {
  onprogress?(progress: Json): void;
  readonly signal?: AbortSignal;
}

export interface Pair {
  readonly era: Era;
  readonly url: string;
  /** Tells every client of a change. */
  readonly announce: Announcer;
  /** The client is closed when the test is over. */
  connect(options?: ConnectOptions): Promise<SdkClient>;
  /** Calls a tool with what the two clients take in different places. */
  call(client: SdkClient, params: Parameters<SdkClient['callTool']>[0], options: CallOptions): Promise<Json>;
  /**
   * Makes sure that changes are heard of: in the modern era they must be asked for, before that a stream must be open.
   */
  listen(client: SdkClient, filter: Json): Promise<void>;
  close(): Promise<void>;
}

export interface PlainPair extends Pair {
  readonly seen: Seen[];
}

/** How each SDK makes its server: for each session in the legacy era, for each request in the modern one. */
export interface Makers {
  legacy(): ServerV1 | McpServerV1;
  modern(): ServerV2 | McpServerV2;
}

/** The caller closes it. */
export async function launchPairOf(era: Era, make: Makers): Promise<Pair> {
  const { server, announce, heard } = await (era === 'legacy' ? legacy(make.legacy) : modern(make.modern));
  const front = await openFront({ backends: { b: { url: server.url } } });
  const url = front.url('b');
  return {
    era,
    url,
    announce,
    connect: (options = {}) => (era === 'legacy' ? legacyClient(url, options) : modernClient(url, options)),
    call: (client, params, options) =>
      client instanceof ClientV1
        ? client.callTool(params, undefined, options)
        : (client as ClientV2).callTool(params, options),
    listen: async (client, filter) => {
      if (client instanceof ClientV2) await client.listen(filter);
      await heard();
    },
    close: async () => {
      await front.close();
      await server.close();
    },
  };
}

/** Closed when the test is over. */
export async function startPairOf(era: Era, make: Makers): Promise<Pair> {
  const pair = await launchPairOf(era, make);
  onTestFinished(() => pair.close());
  return pair;
}

/** A pair whose server has scripted answers, and records requests. The caller closes it. */
export async function launchPair(era: Era, description: Description, answers: Answers): Promise<PlainPair> {
  const seen: Seen[] = [];
  const recorded: Answers = Object.fromEntries(
    Object.entries(answers).map(([method, answer]) => [
      method,
      (params: Json, talk: Talk) => {
        seen.push({ method, params });
        return answer(params, talk);
      },
    ]),
  );
  const pair = await launchPairOf(era, {
    legacy: () => plainV1(description, recorded),
    modern: () => plainV2(description, recorded),
  });
  return { ...pair, seen };
}

/** Closed when the test is over. */
export async function startPair(era: Era, description: Description, answers: Answers): Promise<PlainPair> {
  const pair = await launchPair(era, description, answers);
  onTestFinished(() => pair.close());
  return pair;
}

function legacyClient(url: string, options: ConnectOptions): Promise<ClientV1> {
  return connectV1(url, { ...options, prepare: (client) => equipV1(client, options) });
}

function modernClient(url: string, options: ConnectOptions): Promise<ClientV2> {
  return connectV2(url, { ...options, prepare: (client) => equipV2(client, options) });
}

async function legacy(make: Makers['legacy']) {
  const server = await serveV1(make);
  // A session whose client is gone, or has no stream open, misses it.
  const tell = (say: (one: ServerV1) => Promise<void>) => {
    for (const one of server.made) say(one instanceof McpServerV1 ? one.server : one).catch(() => undefined);
  };
  const announce: Announcer = {
    tools: () => tell((one) => one.sendToolListChanged()),
    prompts: () => tell((one) => one.sendPromptListChanged()),
    resources: () => tell((one) => one.sendResourceListChanged()),
    updated: (uri) => tell((one) => one.sendResourceUpdated({ uri })),
  };
  const heard = () => until(() => server.listening, 'the standalone stream is open');
  return { server, announce, heard };
}

async function modern(make: Makers['modern']) {
  const server = await serveV2(make);
  const announce: Announcer = {
    tools: () => server.notify.toolsChanged(),
    prompts: () => server.notify.promptsChanged(),
    resources: () => server.notify.resourcesChanged(),
    updated: (uri) => server.notify.resourceUpdated(uri),
  };
  // An acknowledged subscription is one.
  return { server, announce, heard: async () => undefined };
}

export interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** The JSON-RPC error that a request was answered with, in the same words for both clients. */
export async function refusal(answer: Promise<unknown>): Promise<Refusal> {
  try {
    const result = await answer;
    throw new Error(`answered with ${JSON.stringify(result)}`);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'number') throw error;
    // The older SDK puts the code in front of the message, on both sides.
    const message = error.message.replace(/^(MCP error -?\d+: )+/, '');
    return { code: error.code, message, ...('data' in error && error.data !== undefined ? { data: error.data } : {}) };
  }
}
