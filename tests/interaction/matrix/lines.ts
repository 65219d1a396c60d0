/** How a client reaches the gateway: what it says, and everything that it has heard, over HTTP, stdio and HTTP+SSE. */
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { serveStdio } from '../../../src/downstream/stdio.ts';
import { ingressNotes } from '../../../src/observe/event-counts.ts';
import type { Log } from '../../../src/observe/log.ts';
import { begin, type Headers, type Json, type OpenAnswer, open } from '../harness/client.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';
import { SseClient } from '../harness/sse-client.ts';
import type { Transport } from './wires.ts';

export interface Line {
  /** `headers` are those that the message needs beside the ones of the session. */
  say(message: Json, headers?: Headers): Said;
  readonly heard: readonly Json[];
  /** Makes sure that what is said unasked is heard. */
  attend(headers: Headers): Promise<void>;
}

export interface Said {
  /**
   * Lets go of the answer. In the modern era that is how a request is cancelled; where there is one pipe for
   * everything, it is said.
   */
  drop(): void;
}

/** A gateway with that config, and a client's way to it. Closed when the test is over. */
export const lines: Readonly<Record<Transport, (config: ConfigValue) => Promise<Line>>> = {
  http: async (config) => new HttpLine((await startGateway(config)).url()),
  stdio: async (config) => new StdioLine(await startGateway(config)),
  sse: async (config) => {
    const { origin } = await startGateway(config);
    return new SseLine(await SseClient.open(`${origin}/sse`));
  },
};

class HttpLine implements Line {
  readonly #url: string;
  readonly #answers: OpenAnswer[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  say(message: Json, headers: Headers = {}): Said {
    const begun = begin(this.#url, { body: message, headers: { ...this.#session, ...headers } });
    begun.answer.then(
      (answer) => this.#answers.push(answer),
      () => undefined,
    );
    return begun;
  }

  get heard(): readonly Json[] {
    return this.#answers.flatMap(messages);
  }

  async attend(headers: Headers): Promise<void> {
    const all = { ...this.#session, ...headers, accept: 'text/event-stream' };
    this.#answers.push(await open(this.#url, { method: 'GET', headers: all }));
  }

  get #session(): Headers {
    const ids = this.#answers.map((answer) => answer.headers['mcp-session-id']);
    const id = ids.find((one) => typeof one === 'string');
    return typeof id === 'string' ? { 'mcp-session-id': id } : {};
  }
}

/** What an answer has said so far, whichever form it has. */
function messages(answer: OpenAnswer): readonly Json[] {
  const { 'content-type': type } = answer.headers;
  if (type?.startsWith('text/event-stream')) return answer.events.flatMap(({ data, json }) => (data ? [json()] : []));
  return answer.over && type?.startsWith('application/json') ? [JSON.parse(answer.text())] : [];
}

const cancelled = ({ id }: Json) => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId: id },
});

const quiet = () => undefined;
const silent: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/**
 * The transport of `bascule stdio` on two pipes in this process. tests/interaction/connections has the program itself.
 */
class StdioLine implements Line {
  readonly #input = new PassThrough();
  readonly #output = new PassThrough();
  #text = '';

  constructor({ assembled: { gateway }, config, counters }: TestGateway) {
    const [endpoint] = config.endpoints;
    if (endpoint === undefined) throw new Error('the config has no endpoint');
    this.#output.on('data', (chunk: Buffer) => {
      this.#text += chunk.toString('utf8');
    });
    const { limits } = config;
    const [input, output] = [this.#input, this.#output];
    const notes = ingressNotes(silent, counters);
    void serveStdio({ input, output, gateway, endpoint, limits, notes });
    onTestFinished(() => void input.end());
  }

  say(message: Json): Said {
    this.#input.write(`${JSON.stringify(message)}\n`);
    return { drop: () => this.say(cancelled(message)) };
  }

  get heard(): readonly Json[] {
    return this.#text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  async attend(): Promise<void> {
    // Everything comes on the one pipe.
  }
}

class SseLine implements Line {
  readonly #client: SseClient;

  constructor(client: SseClient) {
    this.#client = client;
  }

  say(message: Json): Said {
    void this.#client.post(message).catch(() => undefined);
    return { drop: () => this.say(cancelled(message)) };
  }

  get heard(): readonly Json[] {
    return this.#client.heard;
  }

  async attend(): Promise<void> {
    // Everything comes on the one stream.
  }
}
