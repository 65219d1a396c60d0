/**
 * The server behind every contestant, without its transport. Results are made once, as bytes, so that what the bench
 * measures is the gateway.
 */
import { makeEcho, makeRecords, makeReport, makeTools, toolNames } from './payloads.ts';

export type Era = 'modern' | 'legacy';

export interface Incoming {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: { readonly text?: string };
    readonly protocolVersion?: string;
  };
}

export interface Outgoing {
  readonly bytes: Buffer;
  readonly failed: boolean;
}

const METHOD_NOT_FOUND = -32601;
const serverInfo = { name: 'bench-backend', version: '1.0.0' };
const capabilities = { tools: {} };

/** Nothing is fresh for any time: every list is to be fetched anew, or the bench would measure a cache. */
const cacheHints = { ttlMs: 0, cacheScope: 'public' };
const modernMembers = {
  resultType: 'complete',
  _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
};

export class Answers {
  readonly #era: Era;
  readonly #fixed: ReadonlyMap<string, Buffer>;

  constructor(era: Era) {
    this.#era = era;
    this.#fixed = new Map([
      ['tools/list', this.#result({ tools: makeTools() }, cacheHints)],
      [toolNames.report, this.#result(makeReport())],
      [toolNames.records, this.#result(makeRecords())],
      ['ping', this.#result({})],
      [
        'server/discover',
        this.#result({ supportedVersions: ['2026-07-28'], capabilities }, { ttlMs: 3_600_000, cacheScope: 'public' }),
      ],
    ]);
  }

  answer(request: Incoming): Outgoing {
    const result = this.#resultOf(request);
    if (result !== undefined) return { bytes: envelope(request.id, '"result":', result), failed: false };
    const error = Buffer.from(JSON.stringify({ code: METHOD_NOT_FOUND, message: 'Method not found' }));
    return { bytes: envelope(request.id, '"error":', error), failed: true };
  }

  #resultOf({ method = '', params = {} }: Incoming): Buffer | undefined {
    if (method === 'tools/call') {
      const text = params.arguments?.text ?? '';
      return params.name === toolNames.echo ? this.#result(makeEcho(text)) : this.#fixed.get(params.name ?? '');
    }
    const only = method === 'server/discover' ? 'modern' : method === 'ping' || method === 'initialize' ? 'legacy' : undefined;
    if (only !== undefined && only !== this.#era) return undefined;
    if (method !== 'initialize') return this.#fixed.get(method);
    return this.#result({ protocolVersion: params.protocolVersion ?? '2025-11-25', capabilities, serverInfo });
  }

  #result(members: object, modernOnly: object = {}): Buffer {
    const whole = this.#era === 'modern' ? { ...members, ...modernMembers, ...modernOnly } : members;
    return Buffer.from(JSON.stringify(whole));
  }
}

function envelope(id: string | number | undefined, member: string, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${member}`), value, Buffer.from('}')]);
}
