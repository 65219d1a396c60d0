/** Servers of the official SDKs with one of everything. */
import * as z from 'zod';
import { McpServerV1, McpServerV2 } from '../harness/sdk-servers.ts';

const info = { name: 'official', version: '1.0.0' };

/** How often a tool was called. */
interface Calls {
  count: number;
}

export function furnishedV1(calls: Calls = { count: 0 }): McpServerV1 {
  const server = new McpServerV1(info);
  server.registerTool('echo', { inputSchema: { text: z.string() } }, ({ text }) => {
    calls.count += 1;
    return { content: [{ type: 'text', text }] };
  });
  server.registerPrompt('greet', {}, () => ({ messages: [] }));
  server.registerResource('note', 'note://one', {}, (uri) => ({ contents: [{ uri: uri.href, text: 'one' }] }));
  return server;
}

export function furnishedV2(calls: Calls = { count: 0 }): McpServerV2 {
  const server = new McpServerV2(info);
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => {
    calls.count += 1;
    return { content: [{ type: 'text', text }] };
  });
  server.registerPrompt('greet', {}, () => ({ messages: [] }));
  server.registerResource('note', 'note://one', {}, (uri) => ({ contents: [{ uri: uri.href, text: 'one' }] }));
  return server;
}
