/** Official SDK clients, connected through a gateway. Closed when the test is over. */
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as HttpV2,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { onTestFinished } from 'vitest';

export { ClientV1, ClientV2 };

export interface ListChanged {
  readonly tools: { onChanged(error: Error | null, tools: readonly { name: string }[] | null): void };
}

const self = { name: 'sdk-client', version: '1.0.0' };

export interface SdkOptions {
  readonly capabilities?: Record<string, object>;
  /** What to do when a list changed. */
  readonly listChanged?: ListChanged;
  /** Of every request. */
  readonly headers?: Record<string, string>;
  /** Handlers are set before the connection is made. */
  prepare?(client: ClientV1): void;
}

/** SDK v1: legacy. */
export async function connectV1(url: string, options: SdkOptions = {}): Promise<ClientV1> {
  const { capabilities = {}, prepare, listChanged, headers = {} } = options;
  const client = new ClientV1(self, { capabilities, ...(listChanged && { listChanged }) });
  prepare?.(client);
  onTestFinished(() => client.close());
  await client.connect(new HttpV1(new URL(url), { requestInit: { headers } }) as Parameters<ClientV1['connect']>[0]);
  return client;
}

export interface SdkV2Options {
  readonly capabilities?: Record<string, object>;
  readonly listChanged?: ListChanged;
  readonly headers?: Record<string, string>;
  readonly authProvider?: OAuthClientProvider;
  prepare?(client: ClientV2): void;
}

/** SDK v2, pinned to the modern revision. */
export async function connectV2(url: string, options: SdkV2Options = {}): Promise<ClientV2> {
  const { capabilities = {}, prepare, listChanged, headers = {}, authProvider } = options;
  const client = new ClientV2(self, {
    capabilities,
    versionNegotiation: { mode: { pin: '2026-07-28' } },
    ...(listChanged && { listChanged }),
  });
  prepare?.(client);
  onTestFinished(() => client.close());
  await client.connect(new HttpV2(new URL(url), { requestInit: { headers }, ...(authProvider && { authProvider }) }));
  return client;
}
