/**
 * The server behind every contestant, without its transport. Results are made once, as bytes, so that what the bench
 * measures is the gateway.
 */
import { makeEcho, makeRecords, makeReport, makeTools, TOOLS, toolNames } from './payloads.ts';

export type Era = 'modern' | 'legacy';

interface CallArguments {
  readonly text?: string;
  /** How long a report is wanted. */
  readonly bytes?: number;
}

export interface Incoming {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: CallArguments;
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

/**
 * Lists are to be fetched anew each time, or the bench would measure a cache; where it wants to, they are good for
 * longer than it runs.
 */
const NEVER_FRESH_MS = 0;
export const LONG_FRESH_MS = 3_600_000;
const modernMembers = {
  resultType: 'complete',
  _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
};

export class Answers {
  readonly #era: Era;
  readonly #listTtlMs: number;
  readonly #tools: number;
  readonly #made = new Map<string, Buffer>();

  constructor(era: Era, listTtlMs = NEVER_FRESH_MS, tools = TOOLS) {
    this.#era = era;
    this.#listTtlMs = listTtlMs;
    this.#tools = tools;
  }

  answer(request: Incoming): Outgoing {
    const result = this.#resultOf(request);
    if (result !== undefined) return { bytes: envelope(request.id, '"result":', result), failed: false };
    const error = Buffer.from(JSON.stringify({ code: METHOD_NOT_FOUND, message: 'Method not found' }));
    return { bytes: envelope(request.id, '"error":', error), failed: true };
  }

  #resultOf({ method = '', params = {} }: Incoming): Buffer | undefined {
    switch (method) {
      case 'tools/call':
        return this.#called(params.name, params.arguments);
      case 'tools/list':
        return this.#once(method, () => this.#result({ tools: makeTools(this.#tools) }, cacheHints(this.#listTtlMs)));
      case 'server/discover':
        if (this.#era === 'legacy') return undefined;
        return this.#result({ supportedVersions: ['2026-07-28'], capabilities }, cacheHints(LONG_FRESH_MS));
      case 'ping':
        return this.#era === 'legacy' ? this.#result({}) : undefined;
      case 'initialize':
        if (this.#era === 'modern') return undefined;
        return this.#result({ protocolVersion: params.protocolVersion ?? '2025-11-25', capabilities, serverInfo });
      default:
        return undefined;
    }
  }

  #called(name: string | undefined, { text = '', bytes }: CallArguments = {}): Buffer | undefined {
    if (name === toolNames.echo) return this.#result(makeEcho(text));
    if (name === toolNames.report) return this.#once(`${name} ${bytes}`, () => this.#result(makeReport(bytes)));
    return name === toolNames.records ? this.#once(name, () => this.#result(makeRecords())) : undefined;
  }

  /** When first asked for, and not before: the start of a process is measured too. */
  #once(key: string, make: () => Buffer): Buffer {
    const made = this.#made.get(key) ?? make();
    this.#made.set(key, made);
    return made;
  }

  #result(members: object, modernOnly: object = {}): Buffer {
    const whole = this.#era === 'modern' ? { ...members, ...modernMembers, ...modernOnly } : members;
    return Buffer.from(JSON.stringify(whole));
  }
}

function cacheHints(ttlMs: number): object {
  return { ttlMs, cacheScope: 'public' };
}

function envelope(id: string | number | undefined, member: string, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${member}`), value, Buffer.from('}')]);
}
