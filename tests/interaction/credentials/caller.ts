/** Clients of both eras that call a tool and may be asked to open a page on the way. */
import type { Era } from '../../../src/wire/revisions.ts';
import { type Headers, type Json, send } from '../harness/client.ts';
import { connectLegacy, type LegacyClient, modern } from '../harness/eras.ts';

/** Opens the page, or does not, and tells what the client answers. */
export type Shown = (link: string) => Promise<'accept' | 'decline' | 'cancel'>;

export interface CallerOptions {
  readonly era: Era;
  readonly url: string;
  readonly credentials?: Headers;
  /** Without it, the client cannot be asked. */
  readonly shown?: Shown;
}

export interface Caller {
  /** The JSON-RPC answer of a tool call. */
  call(tool: string, args?: object): Promise<Json>;
  tools(): Promise<readonly string[]>;
  /** Pages that it was asked to open. */
  readonly asked: readonly string[];
  /** Of a legacy client alone. */
  readonly session?: LegacyClient;
}

const elicitation = { elicitation: { url: {} } };

export function caller(options: CallerOptions): Promise<Caller> {
  return options.era === 'modern' ? Promise.resolve(modernCaller(options)) : legacyCaller(options);
}

function modernCaller({ url, credentials = {}, shown }: CallerOptions): Caller {
  const asked: string[] = [];
  const capabilities = shown === undefined ? {} : elicitation;
  const post = async (method: string, params: Record<string, unknown>) => {
    const answer = await send(url, modern({ method, params, capabilities, headers: credentials }));
    return answer.events.length > 0 ? answer.events.at(-1)?.json() : answer.json();
  };
  return {
    asked,
    tools: async () => (await post('tools/list', {})).result.tools.map(({ name }: Json) => name),
    call: async (tool, args = {}) => {
      const params = { name: tool, arguments: args };
      let answer = await post('tools/call', params);
      while (answer.result?.resultType === 'input_required') {
        const { inputRequests, requestState } = answer.result;
        const inputResponses: Record<string, object> = {};
        for (const [key, { method, params: question }] of Object.entries<Json>(inputRequests)) {
          if (method !== 'elicitation/create' || question.mode !== 'url') throw new Error(`asked for ${method}`);
          asked.push(question.url);
          inputResponses[key] = { action: await shown?.(question.url) };
        }
        answer = await post('tools/call', { ...params, inputResponses, requestState });
      }
      return answer;
    },
  };
}

async function legacyCaller({ url, credentials = {}, shown }: CallerOptions): Promise<Caller> {
  const asked: string[] = [];
  const capabilities = shown === undefined ? {} : elicitation;
  const session = await connectLegacy(url, { capabilities }, credentials);
  let calls = 0;
  const request = (method: string, params: object) => ({ jsonrpc: '2.0', id: `c${++calls}`, method, params });
  return {
    asked,
    session,
    tools: async () => {
      const stream = await session.stream(request('tools/list', {}));
      await stream.ended;
      const text = stream.events.length > 0 ? stream.events.at(-1)?.json() : JSON.parse(stream.text());
      return text.result.tools.map(({ name }: Json) => name);
    },
    call: async (tool, args = {}) => {
      const message = request('tools/call', { name: tool, arguments: args });
      const stream = await session.stream(message);
      if (!stream.headers['content-type']?.startsWith('text/event-stream')) {
        await stream.ended;
        return JSON.parse(stream.text());
      }
      const seen = new Set<unknown>();
      for (;;) {
        const said = await stream.message(
          ({ id, method }) => (id === message.id || method === 'elicitation/create') && !seen.has(id),
        );
        if (said.method === undefined) return said;
        seen.add(said.id);
        asked.push(said.params.url);
        const action = await shown?.(said.params.url);
        await session.post({ jsonrpc: '2.0', id: said.id, result: { action } });
      }
    },
  };
}
