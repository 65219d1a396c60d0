/** The ways in: how a message of the run reaches a gateway, and whether it got through. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { Pool } from 'undici';
import type { Envelope, Sample } from './grammar.ts';

/** Undefined: this way in does not tell which message an answer is to. */
export type Verdict = 'accepted' | 'refused' | undefined;

export interface Front {
  readonly name: string;
  readonly envelope: Envelope;
  /** What a merged endpoint puts before the names of a backend. */
  readonly prefix: string;
  send(sample: Sample): Promise<Verdict>;
}

const WAIT_MS = 30_000;
const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

export class HttpFronts {
  readonly #pool: Pool;

  constructor(origin: string) {
    this.#pool = new Pool(origin, { connections: 16, headersTimeout: WAIT_MS, bodyTimeout: WAIT_MS });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  modern(name: string, path: string, prefix = ''): Front {
    return { name, envelope: 'modern', prefix, send: (sample) => this.#post(path, sample) };
  }

  rpc(name: string, path: string, envelope: 'rpc' | 'rpc batch'): Front {
    return { name, envelope, prefix: '', send: (sample) => this.#post(path, sample) };
  }

  /** A session, which ends with the pool. */
  async legacy(name: string, path: string, revision: string, prefix = ''): Promise<Front> {
    const envelope = revision === '2025-03-26' ? 'batch' : 'legacy';
    const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'differential', version: '1' } };
    const { headers, body } = await this.#pool.request({
      path,
      method: 'POST',
      headers: jsonHeaders,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    });
    const text = await body.text();
    const session = headers['mcp-session-id'];
    if (typeof session !== 'string') throw new Error(`${name}: no session: ${text}`);
    const own = { 'mcp-session-id': session, 'mcp-protocol-version': revision };
    await this.#post(path, { tricks: [], text: INITIALIZED, headers: own });
    return { name, envelope, prefix, send: (sample) => this.#post(path, { ...sample, headers: own }) };
  }

  /** HTTP+SSE: answers come on the stream, so that nothing but the pace can be known here. */
  async sse(name: string, path: string): Promise<Front> {
    const stream = await this.#pool.request({
      path,
      method: 'GET',
      headers: { accept: 'text/event-stream' },
      bodyTimeout: 0,
    });
    let tell: (address: string) => void = () => undefined;
    const address = new Promise<string>((resolve) => {
      tell = resolve;
    });
    let event = '';
    const lines = createInterface({ input: stream.body });
    lines.on('error', () => undefined);
    lines.on('line', (line) => {
      if (line.startsWith('event:')) event = line.slice(6).trim();
      else if (line.startsWith('data:') && event === 'endpoint') tell(line.slice(5).trim());
    });
    stream.body.on('error', () => undefined);
    const where = await address;
    const post = (text: string) => this.#post(where, { tricks: [], text, headers: {} });
    const params = {
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: { name: 'differential', version: '1' },
    };
    await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }));
    await post(INITIALIZED);
    return {
      name,
      envelope: 'legacy',
      prefix: '',
      send: async ({ text }) => {
        await post(text);
        return undefined;
      },
    };
  }

  async #post(path: string, { text, headers }: Sample): Promise<Verdict> {
    const answer = await this.#pool.request({
      path,
      method: 'POST',
      headers: { ...jsonHeaders, ...headers },
      body: text,
    });
    const body = await answer.body.text();
    return answer.statusCode === 200 && /"result":/.test(body) ? 'accepted' : 'refused';
  }
}

const INITIALIZED = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });

/** `bascule stdio`: after each burst a request with a known id waits for all before it. */
export class StdioFront implements Front {
  readonly name = 'stdio';
  readonly envelope = 'modern';
  readonly prefix = '';
  readonly #input: Writable;
  readonly #waiting = new Map<string, () => void>();
  #count = 0;

  constructor(input: Writable, output: Readable) {
    this.#input = input;
    createInterface({ input: output }).on('line', (line) => {
      const id = /"id":"(sync \d+)"/.exec(line)?.[1];
      if (id === undefined) return;
      this.#waiting.get(id)?.();
      this.#waiting.delete(id);
    });
  }

  async send({ text }: Sample): Promise<Verdict> {
    this.#input.write(`${text.replaceAll(/[\r\n]/g, ' ')}\n`);
    if (++this.#count % 20 === 0) await this.#sync();
    return undefined;
  }

  #sync(): Promise<void> {
    const id = `sync ${this.#count}`;
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'differential', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('`bascule stdio` does not answer')), WAIT_MS);
      this.#waiting.set(id, () => {
        clearTimeout(timer);
        resolve();
      });
      this.#input.write(
        `${JSON.stringify({ jsonrpc: '2.0', id, method: 'server/discover', params: { _meta: meta } })}\n`,
      );
    });
  }
}
