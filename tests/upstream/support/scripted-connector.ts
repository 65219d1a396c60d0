import { Failure } from '../../../src/errors/failure.ts';
import type { Connector } from '../../../src/upstream/backend-options.ts';
import type { ChannelSink } from '../../../src/upstream/channel.ts';
import type { Transport } from '../../../src/upstream/verdict.ts';
import { type Asked, ScriptedChannel } from './scripted-channel.ts';

/** How a backend answers one request; `this` is its channel. */
export type Rule = (asked: Asked, channel: ScriptedChannel) => void;

export const modernResult = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
};

export const rules = {
  modern: (asked) => {
    if (asked.json.method === 'server/discover') asked.result(modernResult);
    else if (asked.json.method === 'initialize') asked.error(-32601);
  },
  legacy: (asked) => {
    if (asked.json.method === 'initialize') agree(asked);
    else if (asked.json.method === 'server/discover') asked.error(-32601);
  },
  dual: (asked) => {
    if (asked.json.method === 'initialize') agree(asked);
    else if (asked.json.method === 'server/discover') {
      asked.result({ ...modernResult, supportedVersions: ['2025-11-25', '2026-07-28'] });
    }
  },
  /** Answers nothing that it does not know. */
  taciturn: (asked) => {
    if (asked.json.method === 'initialize') agree(asked);
  },
  /** Ends when it is asked anything before `initialize`. */
  touchy: (asked, channel) => {
    if (asked.json.method === 'initialize') agree(asked);
    else channel.lose(new Failure('backend_unavailable'));
  },
  broken: (_asked, channel) => channel.lose(new Failure('backend_unavailable')),
  silent: () => undefined,
} satisfies Record<string, Rule>;

export function agree(asked: Asked, sessionId?: string): void {
  const { protocolVersion } = asked.json.params;
  const http = sessionId === undefined ? undefined : { status: 200, sessionId };
  asked.result({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's' } }, http);
}

/** A backend that follows one rule after the other, process by process; the last one stays. */
export class ScriptedConnector implements Connector {
  readonly transport: Transport;
  readonly channels: ScriptedChannel[] = [];
  readonly eras: string[] = [];
  readonly patience: (number | undefined)[] = [];
  /** HTTP+SSE at the same address. */
  older?: ScriptedConnector;
  rules: Rule[];
  refuse: Failure | undefined;
  closed = false;

  constructor(transport: Transport, ...script: Rule[]) {
    this.transport = transport;
    this.rules = script;
  }

  async connect(era: string, sink: ChannelSink, patienceMs?: number): Promise<ScriptedChannel> {
    this.eras.push(era);
    this.patience.push(patienceMs);
    if (this.refuse !== undefined) throw this.refuse;
    const channel = new ScriptedChannel(this.transport === 'http').attach(sink);
    const rule = this.rules.length > 1 ? this.rules.shift() : this.rules[0];
    channel.onRequest = (asked) => rule?.(asked, channel);
    this.channels.push(channel);
    return channel;
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  /** What was asked on each channel. */
  get log(): string[][] {
    return this.channels.map((channel) => channel.asked.map(({ json }) => json.method));
  }

  get open(): number {
    return this.channels.filter((channel) => !channel.closed).length;
  }
}
