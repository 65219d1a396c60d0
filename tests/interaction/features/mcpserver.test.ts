/**
 * The servers that people write: `McpServer` of both SDKs, seen by the official client of the same era through the
 * gateway.
 */
import { ResourceTemplate as TemplateV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import { ResourceTemplate as TemplateV2 } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Era } from '../../../src/wire/revisions.ts';
import { verifies } from '../../requirements/verifies.ts';
import type { Json } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { Gate } from '../harness/gate.ts';
import { launchPairOf, type Pair, refusal, startPairOf } from '../harness/pairs.ts';
import { McpServerV1, McpServerV2 } from '../harness/sdk-servers.ts';
import { text } from './samples.ts';

const info = { name: 'mcpserver', version: '1.0.0' };

const pending = { mode: 'url' as const, message: 'Pay', elicitationId: 'e-1', url: 'https://pay.example/1?a=b' };

const refusedArguments = {
  legacy:
    'MCP error -32602: Input validation error: Invalid arguments for tool add: Invalid input: expected number, received string at a\nInvalid input: expected number, received undefined at b',
  modern:
    'Input validation error: Invalid arguments for tool add: a: Invalid input: expected number, received string, b: Invalid input: expected number, received undefined',
};

/** What a tool says through its SDK while it runs. */
interface Voice {
  log(level: string, data: unknown): Promise<void>;
  progress(progress: number): Promise<void>;
}

/** The same words register the same things in both SDKs. */
function furnish(server: Json, Template: typeof TemplateV1 | typeof TemplateV2, voice: (context: Json) => Voice): void {
  server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }: Json) => ({
    content: [text(String(a + b))],
  }));
  server.registerTool('throw', {}, () => {
    throw new Error('The disk is full');
  });
  server.registerTool('talk', {}, async (context: Json) => {
    const { log, progress } = voice(context);
    await log('warning', { disk: 'nearly full' });
    await progress(1);
    await spoken.opened;
    return { content: [text('said')] };
  });
  server.registerResource('fixed', 'note://fixed', { mimeType: 'text/plain' }, ({ href }: URL) => ({
    contents: [{ uri: href, mimeType: 'text/plain', text: 'Fixed' }],
  }));
  server.registerResource('broken', 'note://broken', {}, () => {
    throw new Error('The note is torn');
  });
  server.registerResource(
    'rows',
    new Template('db://{table}/rows/{id}', { list: undefined }),
    { title: 'Rows' },
    ({ href }: URL, { table, id }: Json) => ({ contents: [{ uri: href, text: `${table}/${id}` }] }),
  );
  server.registerPrompt(
    'review',
    {
      title: 'Review',
      description: 'Reviews code',
      argsSchema: { code: z.string().describe('The code'), tone: z.string().optional() },
    },
    ({ code, tone }: Json) => ({ messages: [{ role: 'user', content: text(`${code} ${tone ?? 'as you like'}`) }] }),
  );
}

/** Opened when the client has heard what the tool said. */
let spoken = new Gate();

const make = {
  legacy: () => {
    const server = new McpServerV1(info, { capabilities: { logging: {} } });
    furnish(server, TemplateV1, ({ _meta, sendNotification }) => ({
      log: (level, data) => server.server.sendLoggingMessage({ level: level as 'info', data }),
      progress: (progress) =>
        sendNotification({
          method: 'notifications/progress',
          params: { progressToken: _meta.progressToken, progress, total: 2 },
        }),
    }));
    server.registerTool('pay', {}, () => {
      throw new UrlElicitationRequiredError([pending], 'Payment is due');
    });
    return server;
  },
  modern: () => {
    const server = new McpServerV2(info, { capabilities: { logging: {} } });
    furnish(server, TemplateV2, ({ mcpReq }) => ({
      log: (level, data) => mcpReq.log(level, data),
      progress: (progress) =>
        mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: mcpReq._meta.progressToken, progress, total: 2 },
        }),
    }));
    return server;
  },
};

describe.each(eras)('an McpServer, %s', (era: Era) => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await launchPairOf(era, make);
  });
  afterAll(() => pair.close());

  for (const { name, call, proves, result } of [
    {
      name: 'turns an error thrown by a tool into a result',
      call: { name: 'throw' },
      proves: ['mcpserver:tool:handler-throws'],
      result: () => 'The disk is full',
    },
    {
      name: 'refuses arguments in a result',
      call: { name: 'add', arguments: { a: 'x' } },
      proves: ['mcpserver:tool:input-validation'],
      result: () => refusedArguments[era],
    },
  ] as const) {
    it(name, verifies(...proves), async () => {
      const client = await pair.connect();
      const { content, isError } = await client.callTool(call);
      expect({ content, isError }).toEqual({ content: [text(result())], isError: true });
    });
  }

  it(
    'answers an unknown tool as its revision requires',
    verifies('mcpserver:tool:unknown-name', 'tools:call:unknown-name'),
    async () => {
      const client = await pair.connect();
      const answer = client.callTool({ name: 'nobody' });
      if (era === 'legacy') {
        expect(await answer).toEqual({ content: [text('MCP error -32602: Tool nobody not found')], isError: true });
      } else {
        expect(await refusal(answer)).toEqual({ code: -32602, message: 'Tool nobody not found' });
      }
    },
  );

  it(
    'sends messages through its context while a tool runs',
    verifies('mcpserver:context:logging', 'mcpserver:context:progress'),
    async () => {
      spoken = new Gate();
      const logged: Json[] = [];
      const progress: Json[] = [];
      const hear = (heard: Json[], one: Json) => {
        heard.push(one);
        if (logged.length > 0 && progress.length > 0) spoken.open();
      };
      const client = await pair.connect({ hears: { 'notifications/message': (params) => hear(logged, params) } });
      // Outside a request, which is where the older SDK logs, it needs a stream to be heard on.
      if (era === 'legacy') await pair.listen(client, {});
      const _meta = era === 'modern' ? { 'io.modelcontextprotocol/logLevel': 'warning' } : {};
      const call = pair.call(client, { name: 'talk', _meta }, { onprogress: (step) => hear(progress, step) });
      expect((await call).content).toEqual([text('said')]);
      expect(logged).toMatchObject([{ level: 'warning', data: { disk: 'nearly full' } }]);
      expect(progress).toEqual([{ progress: 1, total: 2 }]);
    },
  );

  it('has resources with a fixed address', verifies('mcpserver:resource:static'), async () => {
    const client = await pair.connect();
    expect((await client.listResources()).resources).toEqual([
      { name: 'fixed', uri: 'note://fixed', mimeType: 'text/plain' },
      { name: 'broken', uri: 'note://broken' },
    ]);
    const { contents } = await client.readResource({ uri: 'note://fixed' });
    expect(contents).toEqual([{ uri: 'note://fixed', mimeType: 'text/plain', text: 'Fixed' }]);
  });

  it('has resources under a template', verifies('mcpserver:resource:template'), async () => {
    const client = await pair.connect();
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([
      { name: 'rows', title: 'Rows', uriTemplate: 'db://{table}/rows/{id}' },
    ]);
    const { contents } = await client.readResource({ uri: 'db://orders/rows/7' });
    expect(contents).toEqual([{ uri: 'db://orders/rows/7', text: 'orders/7' }]);
  });

  it('shows why a resource cannot be read', verifies('mcpserver:resource:read-throws-surfaced'), async () => {
    const client = await pair.connect();
    expect(await refusal(client.readResource({ uri: 'note://broken' }))).toEqual({
      code: -32603,
      message: 'The note is torn',
    });
  });

  it(
    'has prompts with arguments',
    verifies('mcpserver:prompt:decorated', 'mcpserver:prompt:optional-args'),
    async () => {
      const client = await pair.connect();
      expect((await client.listPrompts()).prompts).toEqual([
        {
          name: 'review',
          title: 'Review',
          description: 'Reviews code',
          arguments: [
            { name: 'code', description: 'The code', required: true },
            { name: 'tone', required: false },
          ],
        },
      ]);
      const full = await client.getPrompt({ name: 'review', arguments: { code: 'x', tone: 'kind' } });
      expect(full.messages).toEqual([{ role: 'user', content: text('x kind') }]);
      const partial = await client.getPrompt({ name: 'review', arguments: { code: 'x' } });
      expect(partial.messages).toEqual([{ role: 'user', content: text('x as you like') }]);
    },
  );

  it('refuses an unknown prompt', verifies('mcpserver:prompt:unknown-name'), async () => {
    const client = await pair.connect();
    expect(await refusal(client.getPrompt({ name: 'nobody' }))).toEqual({
      code: -32602,
      message: 'Prompt nobody not found',
    });
  });
});

describe('an McpServer of one era', () => {
  it('makes a legacy client open a page and call again', verifies('mcpserver:tool:url-elicitation-error'), async () => {
    const pair = await startPairOf('legacy', make);
    const client = await pair.connect();
    expect(await refusal(client.callTool({ name: 'pay' }))).toEqual({
      code: -32042,
      message: 'Payment is due',
      data: { elicitations: [pending] },
    });
  });

  it('names the resource that a modern client looked for', verifies('mcpserver:resource:unknown-uri'), async () => {
    const pair = await startPairOf('modern', make);
    const client = await pair.connect();
    expect(await refusal(client.readResource({ uri: 'note://none' }))).toEqual({
      code: -32602,
      message: 'Resource not found: note://none',
      data: { uri: 'note://none' },
    });
  });
});
