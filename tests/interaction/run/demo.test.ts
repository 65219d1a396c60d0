/** Without a config there is something to try: the demo, for every official client and over every transport. */
import { StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { SSEClientTransport as SseV1 } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, inject, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { serve } from '../harness/program.ts';
import { tour, touristV1, touristV2 } from './tour.ts';

const overStdio = () => ({
  command: process.execPath,
  args: [inject('executable') ?? '', 'stdio'],
  stderr: 'ignore' as const,
  cwd: '/',
});

it('is toured by the official client 2.x', verifies('gateway:serve:demo', 'gateway:clients:sdk-v2'), async () => {
  const { url, program } = await serve();
  expect(program.stdout).toContain('serving the built-in demo');
  const tourist = await touristV2(new HttpV2(new URL(url())));
  expect(tourist.revision).toBe('2026-07-28');
  await tour(tourist);
});

it('is toured by the official client 2.x that finds out by itself', verifies('gateway:clients:sdk-v2'), async () => {
  const { url } = await serve();
  const tourist = await touristV2(new HttpV2(new URL(url())), 'auto');
  expect(tourist.revision).toBe('2026-07-28');
  await tour(tourist);
});

it('is toured by the official client 1.x', verifies('gateway:serve:demo', 'gateway:clients:sdk-v1'), async () => {
  const { url } = await serve();
  await tour(await touristV1(new HttpV1(new URL(url()))));
});

it('is toured by the official client 1.x over HTTP+SSE', verifies('gateway:clients:sdk-v1'), async () => {
  const { origin } = await serve();
  await tour(await touristV1(new SseV1(new URL(`${origin}/sse`))));
});

it('is toured by the official client 1.x over stdio', verifies('gateway:clients:sdk-v1'), async () => {
  await tour(await touristV1(new StdioV1(overStdio())));
});

it('is toured by the official client 2.x over stdio', verifies('gateway:clients:sdk-v2'), async () => {
  await tour(await touristV2(new StdioV2(overStdio()), 'auto'));
});
