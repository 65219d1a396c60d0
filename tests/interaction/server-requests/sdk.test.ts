/**
 * Tools that ask in the middle of their work, written with the official SDKs, and the official clients that answer
 * them.
 */
import { type CreateMessageResult, ListRootsResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { acceptedContent, inputRequired, inputResponse } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../features/samples.ts';
import type { Json } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { launchPairOf, type Makers, type Pair } from '../harness/pairs.ts';
import { McpServerV1, McpServerV2 } from '../harness/sdk-servers.ts';

const info = { name: 'asking', version: '1' };
const question = { messages: [{ role: 'user' as const, content: text('Capital of France?') }], maxTokens: 10 };
const name = z.object({ name: z.string() });
const requestedSchema = {
  type: 'object' as const,
  properties: { name: { type: 'string' as const } },
  required: ['name'],
};
const said = (of: string) => ({ content: [text(of)] });

const make: Makers = {
  legacy: () => {
    const server = new McpServerV1(info);
    const { server: inner } = server;
    server.registerTool('greet', {}, async () => {
      const { action, content } = await inner.elicitInput({ message: 'Your name?', requestedSchema });
      return said(`${action} ${content?.name}`);
    });
    server.registerTool('think', {}, async () => {
      const { content, model }: CreateMessageResult = await inner.createMessage(question);
      return said(`${model}: ${content.type === 'text' ? content.text : content.type}`);
    });
    server.registerTool('look', {}, async () => {
      const { roots } = await inner.request({ method: 'roots/list' }, ListRootsResultSchema);
      return said(roots.map(({ uri }) => uri).join(' '));
    });
    return server;
  },
  modern: () => {
    const server = new McpServerV2(info);
    const inputSchema = z.object({});
    server.registerTool('greet', { inputSchema }, (_args, { mcpReq }) => {
      const given = acceptedContent(mcpReq.inputResponses, 'who', name);
      if (given) return said(`accept ${given.name}`);
      return inputRequired({
        inputRequests: { who: inputRequired.elicit({ message: 'Your name?', requestedSchema }) },
      });
    });
    server.registerTool('think', { inputSchema }, (_args, { mcpReq }) => {
      const given = inputResponse(mcpReq.inputResponses, 'thought');
      if (given.kind !== 'sampling')
        return inputRequired({ inputRequests: { thought: inputRequired.createMessage(question) } });
      const content: Json = given.result.content;
      return said(`${given.result.model}: ${content.text}`);
    });
    server.registerTool('look', { inputSchema }, (_args, { mcpReq }) => {
      const given = inputResponse(mcpReq.inputResponses, 'roots');
      if (given.kind === 'roots') return said(given.roots.map(({ uri }) => uri).join(' '));
      return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
    });
    return server;
  },
};

describe.each(eras)('a tool of an SDK server, %s', (era) => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await launchPairOf(era, make);
  });
  afterAll(() => pair.close());

  const asked: Json[] = [];
  const connect = async () => {
    asked.length = 0;
    const answer = (result: object) => (params: Json) => {
      asked.push(params);
      return result;
    };
    const client = await pair.connect({
      capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
      answers: {
        'elicitation/create': answer({ action: 'accept', content: { name: 'Ada' } }),
        'sampling/createMessage': answer({ role: 'assistant', content: text('Paris'), model: 'm-1' }),
        'roots/list': answer({ roots: [{ uri: 'file:///work' }, { uri: 'file:///home' }] }),
      },
    });
    // Outside a request, which is where the older SDK asks, it needs a stream to be heard on.
    if (era === 'legacy') await pair.listen(client, {});
    return client;
  };

  it(
    'shows a form and reads the input',
    verifies('tools:call:elicitation-roundtrip', 'mcpserver:context:elicit'),
    async () => {
      const client = await connect();
      expect((await client.callTool({ name: 'greet' })).content).toEqual([text('accept Ada')]);
      expect(asked).toMatchObject([{ message: 'Your name?', requestedSchema }]);
    },
  );

  it('has the client think for it', verifies('tools:call:sampling-roundtrip'), async () => {
    const client = await connect();
    expect((await client.callTool({ name: 'think' })).content).toEqual([text('m-1: Paris')]);
    expect(asked).toMatchObject([question]);
  });

  it('looks at the roots', verifies('roots:list:basic'), async () => {
    const client = await connect();
    expect((await client.callTool({ name: 'look' })).content).toEqual([text('file:///work file:///home')]);
  });
});
