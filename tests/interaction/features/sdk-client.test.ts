/** What the official clients do by themselves, and can do because the gateway shows them what the server shows. */
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { verifies } from '../../requirements/verifies.ts';
import { until } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { type Makers, startPair, startPairOf } from '../harness/pairs.ts';
import { McpServerV1, McpServerV2 } from '../harness/sdk-servers.ts';
import { text } from './samples.ts';

const outputSchema = {
  type: 'object',
  properties: { n: { type: 'integer', minimum: 1 }, of: { $ref: '#/$defs/unit' } },
  required: ['n'],
  $defs: { unit: { enum: ['m', 's'] } },
};

describe.each(eras)('an SDK client, %s', (era) => {
  it(
    'checks structured content against the schema that the tool has',
    verifies('client:output-schema:validate'),
    async () => {
      const results: Readonly<Record<string, object>> = { good: { n: 2, of: 'm' }, bad: { n: 0, of: 'm' } };
      const named = (name: string) => ({ name, inputSchema: { type: 'object' }, outputSchema });
      const pair = await startPair(
        era,
        { capabilities: { tools: {} } },
        {
          'tools/list': () => ({ tools: ['good', 'bad'].map(named) }),
          'tools/call': ({ name }) => ({ content: [text(name)], structuredContent: results[name] }),
        },
      );
      const client = await pair.connect();
      expect((await client.listTools()).tools).toEqual(['good', 'bad'].map(named));
      expect((await client.callTool({ name: 'good' })).structuredContent).toEqual({ n: 2, of: 'm' });
      await expect(client.callTool({ name: 'bad' })).rejects.toThrow(/Structured content does not match/);
    },
  );

  it(
    'refreshes its list when a tool is added, and can call it',
    verifies('client:list-changed:auto-refresh', 'mcpserver:register:post-connect'),
    async () => {
      const added = { name: 'later', answer: () => ({ content: [text('here')] }) };
      const { make, add } = growing(added);
      const pair = await startPairOf(era, make);
      const lists: (readonly string[])[] = [];
      const client = await pair.connect({
        listChanged: {
          tools: { onChanged: (_error, tools) => void lists.push(tools?.map(({ name }) => name) ?? []) },
        },
      });
      expect((await client.listTools()).tools).toMatchObject([{ name: 'first' }]);
      if (era === 'legacy') await pair.listen(client, {});
      add();
      if (era === 'modern') pair.announce.tools();
      await until(() => lists.length > 0, 'the client refreshed its list');
      expect(lists).toEqual([['first', 'later']]);
      expect((await client.callTool({ name: 'later' })).content).toEqual([text('here')]);
    },
  );
});

/** Servers that have one tool, and another one after `add`: a legacy one tells by itself, a modern one is made anew. */
function growing({ name, answer }: { name: string; answer: () => { content: { type: 'text'; text: string }[] } }): {
  make: Makers;
  add(): void;
} {
  const info = { name: 'growing', version: '1' };
  const capabilities = { tools: { listChanged: true } };
  const older: McpServerV1[] = [];
  let grown = false;
  return {
    make: {
      legacy: () => {
        const server = new McpServerV1(info, { capabilities });
        server.registerTool('first', { inputSchema: z.object({}) }, answer);
        older.push(server);
        return server;
      },
      modern: () => {
        const server = new McpServerV2(info, { capabilities });
        server.registerTool('first', { inputSchema: z.object({}) }, answer);
        if (grown) server.registerTool(name, { inputSchema: z.object({}) }, answer);
        return server;
      },
    },
    add: () => {
      grown = true;
      older.at(-1)?.registerTool(name, { inputSchema: z.object({}) }, answer);
    },
  };
}
