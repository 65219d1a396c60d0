/** A client of the official TypeScript SDK, version 1. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Target } from '../job.ts';
import type { Connect } from './driving.ts';
import { Tap, wantsProgress } from './tap.ts';

function transportTo(target: Target): Transport {
  if ('url' in target) return new StreamableHTTPClientTransport(new URL(target.url)) as Transport;
  const { command, args, cwd, env } = target;
  return new StdioClientTransport({ command, args: [...args], cwd, env: { ...env }, stderr: 'inherit' });
}

export const connectV1: Connect = async ({ target, answers }, hear) => {
  const capabilities = { elicitation: {}, sampling: {}, roots: {} };
  const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, ({ method, params }) => {
    hear({ method, params });
    return { ...answers.elicitation } as never;
  });
  client.setRequestHandler(CreateMessageRequestSchema, ({ method, params }) => {
    hear({ method, params });
    return answers.sampling as never;
  });
  client.setRequestHandler(ListRootsRequestSchema, ({ method, params }) => {
    hear({ method, params });
    return { roots: [...answers.roots] };
  });
  const transport = transportTo(target);
  let protocolVersion: string | undefined;
  const pass = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    protocolVersion = version;
    pass?.(version);
  };
  await client.connect(transport);
  const tap = new Tap(transport, hear);
  const shown = {
    protocolVersion,
    capabilities: client.getServerCapabilities(),
    serverInfo: client.getServerVersion(),
    instructions: client.getInstructions(),
  };
  return {
    shown,
    request: async ({ method, params }) => {
      await client.request({ method, params }, z.looseObject({}), { onprogress: wantsProgress });
      return tap.last();
    },
    close: () => client.close(),
  };
};
