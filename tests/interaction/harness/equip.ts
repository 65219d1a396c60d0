/** What an official client does with what a server tells and asks it: the same words for both SDKs. */
import type { Client as ClientV2 } from '@modelcontextprotocol/client';
import type { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import * as z from 'zod';
import type { Json } from './client.ts';

export interface Words {
  /** What the client does with notifications, by method. */
  readonly hears?: Readonly<Record<string, (params: Json) => void>>;
  /** What the client answers to the server's questions, by method. */
  readonly answers?: Readonly<Record<string, (params: Json) => object | Promise<object>>>;
}

export function equipV1(client: ClientV1, { hears = {}, answers = {} }: Words): void {
  const named = (method: string) =>
    z.looseObject({ method: z.literal(method), params: z.unknown().optional() }) as never;
  for (const [method, hear] of Object.entries(hears)) {
    client.setNotificationHandler(named(method), (({ params }: Json) => hear(params)) as never);
  }
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(named(method), (async ({ params }: Json) => answer(params)) as never);
  }
}

export function equipV2(client: ClientV2, { hears = {}, answers = {} }: Words): void {
  for (const [method, hear] of Object.entries(hears)) {
    const handle = ({ params }: Json) => hear(params);
    client.setNotificationHandler(method as 'notifications/message', handle as never);
  }
  for (const [method, answer] of Object.entries(answers)) {
    const handle = async ({ params }: Json) => answer(params);
    client.setRequestHandler(method as 'roots/list', handle as never);
  }
}
