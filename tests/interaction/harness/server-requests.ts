/** Legacy backends whose tools send server requests, with the same messages over HTTP and over stdio. */
import { type Json, until } from './client.ts';
import type { ConfigValue } from './gateway.ts';
import { legacyBackend, type Turn } from './http-backend.ts';
import { legacyProcess, type StdioTurn } from './stdio-backend.ts';

export const transports = ['http', 'stdio'] as const;
export type Transport = (typeof transports)[number];

export const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };

/** How many server requests a tool sends before it is done; `stuck` is never done. */
const questionsOf: Readonly<Record<string, number>> = { plain: 0, greet: 1, pair: 2, stuck: 1 };

/** A call that the backend has got. */
export interface AskedCall {
  /** Its id, and the session or process that it came on: ids are unique there alone. */
  readonly key: string;
  readonly message: Json;
  /** What came back to its questions, by the number of the question. */
  readonly answers: Map<number, Json>;
  /** Resolves when its client disconnected; immediately if that cannot be seen. */
  readonly closed: Promise<void>;
  /** All at once. */
  say(messages: readonly object[]): void;
  finish(result: object): void;
}

const keyOf = (lane: unknown, id: unknown): string => `${lane} ${id}`;

export class AskingBackend {
  readonly calls: AskedCall[] = [];
  /** The keys of cancelled calls, in order. */
  readonly cancelled: string[] = [];
  /** What came back to its questions, all calls together. */
  readonly answers: Json[] = [];
  #config: ConfigValue = {};
  #ended: () => number = () => 0;

  /** `more` goes into the config beside its address. */
  static async start(transport: Transport, more: ConfigValue = {}): Promise<AskingBackend> {
    const backend = new AskingBackend();
    backend.#config = { ...(await (transport === 'http' ? backend.#overHttp() : backend.#overStdio())), ...more };
    return backend;
  }

  /** Its entry in the config of a gateway. */
  get config(): ConfigValue {
    return this.#config;
  }

  /** Waits until so many sessions, or processes, that it had are ended. */
  ended(lanes: number): Promise<void> {
    return until(() => this.#ended() >= lanes, `${lanes} sessions have ended`);
  }

  /** Waits until exactly these calls were cancelled, each in its own session, by its own id and once. */
  async expectCancelled(calls: readonly AskedCall[]): Promise<void> {
    await until(() => this.cancelled.length >= calls.length, `${calls.length} calls are told to stop`);
    for (const { closed } of calls) await closed;
    const left = new Set(calls.map(({ key }) => key));
    for (const key of this.cancelled)
      if (!left.delete(key)) throw new Error(`told to stop ${key}, which nobody wanted`);
  }

  async #overHttp(): Promise<ConfigValue> {
    const laneOf = (turn: Turn) => turn.received.headers['mcp-session-id'];
    const backend = await legacyBackend({
      'tools/call': (turn) => {
        const { message, closed } = turn;
        turn.stream();
        this.#began({
          key: keyOf(laneOf(turn), message.id),
          message,
          answers: new Map(),
          closed,
          say: (all) => turn.bytes(all.map((said) => `data: ${JSON.stringify(said)}\n\n`).join('')),
          finish: (result) => turn.event({ jsonrpc: '2.0', id: message.id, result }).end(),
        });
      },
      'prompts/get': (turn) => turn.result({ messages: [] }),
      'notifications/cancelled': (turn) => {
        turn.raw(202, {});
        this.cancelled.push(keyOf(laneOf(turn), turn.message.params.requestId));
      },
      POST: (turn) => {
        turn.raw(202, {});
        this.#answered(turn.message, laneOf(turn));
      },
    });
    this.#ended = () => backend.received.filter(({ http }) => http === 'DELETE').length;
    return { url: backend.url };
  }

  async #overStdio(): Promise<ConfigValue> {
    const laneOf = ({ process }: StdioTurn) => process.pid;
    const backend = await legacyProcess({
      'tools/call': (turn) => {
        this.#began({
          key: keyOf(laneOf(turn), turn.message.id),
          message: turn.message,
          answers: new Map(),
          closed: Promise.resolve(),
          say: (all) => turn.process.print(all.map((said) => `${JSON.stringify(said)}\n`).join('')),
          finish: (result) => turn.result(result),
        });
      },
      'prompts/get': (turn) => turn.result({ messages: [] }),
      'notifications/cancelled': (turn) => {
        this.cancelled.push(keyOf(laneOf(turn), turn.message.params.requestId));
      },
      response: (turn) => this.#answered(turn.message, laneOf(turn)),
    });
    this.#ended = () => backend.processes.filter(({ gone }) => gone).length;
    return { command: backend.command, args: backend.args };
  }

  #began(call: AskedCall): void {
    this.calls.push(call);
    const { id, params } = call.message;
    const questions = Array.from({ length: questionsOf[params.name] ?? 0 }, (_, index) => ({
      jsonrpc: '2.0',
      id: `${id}/${index + 1}`,
      method: 'elicitation/create',
      params: form,
    }));
    call.say(questions);
    this.#finish(call);
  }

  #answered(message: Json, lane: unknown): void {
    this.answers.push(message);
    const [id, n] = String(message.id).split('/');
    const call = this.calls.find(({ key }) => key === keyOf(lane, id));
    if (call === undefined) return;
    call.answers.set(Number(n), message);
    this.#finish(call);
  }

  #finish(call: AskedCall): void {
    const { name } = call.message.params;
    if (name === 'stuck' || call.answers.size < (questionsOf[name] ?? 0)) return;
    const names = [...call.answers.values()].map(({ result }) => result?.content?.name);
    call.finish({ content: [{ type: 'text', text: `Hello ${names.join(' and ')}` }] });
  }
}
