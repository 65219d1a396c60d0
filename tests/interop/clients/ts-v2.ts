/** The official TypeScript SDK, version 2: both eras. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { z } from 'zod';
import type { Era, Target } from '../job.ts';
import { type Connect, drive } from './driving.ts';
import { Tap, wantsProgress } from './tap.ts';

const MODES = { legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } } as const satisfies Record<Era, unknown>;
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

function transportTo(target: Target) {
  if ('url' in target) return new StreamableHTTPClientTransport(new URL(target.url));
  const { command, args, cwd, env } = target;
  return new StdioClientTransport({ command, args: [...args], cwd, env: { ...env }, stderr: 'inherit' });
}

const connectV2: Connect = async ({ target, era, answers }, hear) => {
  const client = new Client(
    { name: 'interop', version: '1.0.0' },
    { capabilities: { elicitation: {}, sampling: {}, roots: {} }, versionNegotiation: { mode: MODES[era] } },
  );
  client.setRequestHandler('elicitation/create', ({ method, params }) => {
    hear({ method, params });
    return { ...answers.elicitation } as never;
  });
  client.setRequestHandler('sampling/createMessage', ({ method, params }) => {
    hear({ method, params });
    return answers.sampling as never;
  });
  client.setRequestHandler('roots/list', ({ method, params }) => {
    hear({ method, params });
    return { roots: [...answers.roots] };
  });
  const transport = transportTo(target);
  await client.connect(transport);
  const tap = new Tap(transport, hear);
  const protocolVersion = client.getNegotiatedProtocolVersion();
  const isModern = client.getDiscoverResult() !== undefined;
  const shown = {
    protocolVersion,
    capabilities: client.getServerCapabilities(),
    serverInfo: client.getServerVersion(),
    instructions: client.getInstructions(),
    discovered: client.getDiscoverResult(),
  };
  return {
    shown,
    request: async ({ method, params }) => {
      // 2026-07-28 has no `logging/setLevel`: the level goes with each request.
      if (method === 'logging/setLevel' && isModern) return {};
      const sent = isModern ? { ...params, _meta: { [LOG_LEVEL]: 'debug' } } : params;
      await client.request({ method, params: sent }, z.looseObject({}), { onprogress: wantsProgress });
      return tap.last();
    },
    close: () => client.close(),
  };
};

await drive(connectV2);
