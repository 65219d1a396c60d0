/** Clients of both eras that want the same thing, and tell what came of it in the same words. */
import type { Era, Revision } from '../../../src/wire/revisions.ts';
import { type Json, until } from '../harness/client.ts';
import { initialize, modern } from '../harness/eras.ts';
import type { Question } from './actors.ts';
import type { Line } from './lines.ts';

export interface Wish {
  /** Asks for progress under this token. */
  readonly progressToken?: string;
  readonly logLevel?: string;
  /** Answers what it is asked. */
  readonly answer?: (question: Question) => object;
  /** The request is given up when this resolves. */
  readonly giveUp?: Promise<unknown>;
}

/** What came of a request. Neither result nor error: it was given up. */
export interface Came {
  readonly result?: Json;
  readonly error?: Json;
  /** The notifications that the client got meanwhile. */
  readonly told: readonly Json[];
  readonly asked: readonly Question[];
  /** The token that progress was last asked for under: each round of a modern request has its own. */
  readonly token: string | undefined;
}

export interface Speaker {
  readonly era: Era;
  /** What the server said of itself. */
  readonly greeting: Json;
  request(method: string, params?: object, wish?: Wish): Promise<Came>;
  /** Listens for changes of the tools and of these resources. */
  listen(uris: readonly string[]): Promise<void>;
  /** Waits for a notification. */
  hears(method: string, fits?: (params: Json) => boolean): Promise<Json>;
  /** All notifications so far. */
  readonly told: readonly Json[];
}

export interface Introduction {
  readonly revision: Revision;
  readonly capabilities: object;
}

const isAnswer = (id: unknown) => (message: Json) => message.id === id && message.method === undefined;
const isTold = ({ id, method }: Json) => id === undefined && method !== undefined;

/** What came, and what is waited for. */
class Ear {
  readonly #line: Line;

  constructor(line: Line) {
    this.#line = line;
  }

  get heard(): readonly Json[] {
    return this.#line.heard;
  }

  async first(fits: (message: Json) => boolean, what: string): Promise<Json> {
    await until(() => this.heard.some(fits), what);
    return this.heard.find(fits);
  }

  hears(method: string, fits: (params: Json) => boolean = () => true): Promise<Json> {
    return this.first((message) => message.method === method && fits(message.params), `${method} is heard`);
  }

  get told(): readonly Json[] {
    return this.heard.filter(isTold);
  }
}

class LegacySpeaker implements Speaker {
  readonly era = 'legacy';
  readonly greeting: Json;
  readonly #line: Line;
  readonly #ear: Ear;
  readonly #headers: Readonly<Record<string, string>>;
  #last = 0;

  constructor(line: Line, greeting: Json) {
    this.#line = line;
    this.#ear = new Ear(line);
    this.greeting = greeting;
    this.#headers = { 'mcp-protocol-version': greeting.protocolVersion };
  }

  static async open(line: Line, introduction: Introduction): Promise<LegacySpeaker> {
    line.say(initialize(introduction));
    const { result, error } = await new Ear(line).first(isAnswer('init'), 'the session is agreed on');
    if (result?.protocolVersion !== introduction.revision)
      throw new Error(`initialize: ${JSON.stringify(result ?? error)}`);
    const speaker = new LegacySpeaker(line, result);
    speaker.#say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await speaker.request('ping');
    // As official clients do.
    await line.attend(speaker.#headers);
    return speaker;
  }

  async request(method: string, params: object = {}, wish: Wish = {}): Promise<Came> {
    const { logLevel, progressToken, giveUp } = wish;
    if (logLevel !== undefined) await this.request('logging/setLevel', { level: logLevel });
    const id = `request ${++this.#last}`;
    const before = this.#ear.told;
    const _meta = progressToken && { _meta: { progressToken } };
    this.#say({ jsonrpc: '2.0', id, method, params: { ...params, ..._meta } });
    let givenUp = false;
    void giveUp?.then(() => {
      givenUp = true;
      this.#say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    });
    const asked = new Map<unknown, Question>();
    await until(() => {
      for (const message of this.#ear.heard) this.#answer(message, asked, wish);
      return givenUp || this.#ear.heard.some(isAnswer(id));
    }, `${method} is answered`);
    const { result, error } = this.#ear.heard.find(isAnswer(id)) ?? {};
    const told = this.#ear.told.slice(before.length);
    return { result, error, told, asked: [...asked.values()], token: progressToken };
  }

  async listen(uris: readonly string[]): Promise<void> {
    for (const uri of uris) {
      const { error } = await this.request('resources/subscribe', { uri });
      if (error !== undefined) throw new Error(`resources/subscribe: ${JSON.stringify(error)}`);
    }
  }

  hears(method: string, fits?: (params: Json) => boolean): Promise<Json> {
    return this.#ear.hears(method, fits);
  }

  get told(): readonly Json[] {
    return this.#ear.told;
  }

  #say(message: Json): void {
    this.#line.say(message, this.#headers);
  }

  #answer(message: Json, asked: Map<unknown, Question>, { answer }: Wish): void {
    const { id, method, params } = message;
    if (id === undefined || method === undefined || asked.has(id) || this.#answered.has(id)) return;
    this.#answered.add(id);
    const question = { method, ...(params && { params }) };
    asked.set(id, question);
    if (answer !== undefined) this.#say({ jsonrpc: '2.0', id, result: answer(question) });
  }

  readonly #answered = new Set<unknown>();
}

class ModernSpeaker implements Speaker {
  readonly era = 'modern';
  readonly #line: Line;
  readonly #ear: Ear;
  readonly #capabilities: object;
  #greeting: Json;
  #last = 0;

  constructor(line: Line, { capabilities }: Introduction) {
    this.#line = line;
    this.#ear = new Ear(line);
    this.#capabilities = capabilities;
  }

  static async open(line: Line, introduction: Introduction): Promise<ModernSpeaker> {
    const speaker = new ModernSpeaker(line, introduction);
    const { result, error } = await speaker.request('server/discover');
    if (error !== undefined) throw new Error(`server/discover: ${JSON.stringify(error)}`);
    speaker.#greeting = { ...result, serverInfo: result._meta['io.modelcontextprotocol/serverInfo'] };
    return speaker;
  }

  get greeting(): Json {
    return this.#greeting;
  }

  async request(method: string, params: object = {}, wish: Wish = {}): Promise<Came> {
    const { answer, giveUp, logLevel, progressToken } = wish;
    const before = this.#ear.told;
    const asked: Question[] = [];
    let answers: object = {};
    for (let round = 1; ; round += 1) {
      const token = progressToken && `${progressToken} ${round}`;
      const meta = {
        ...(logLevel && { 'io.modelcontextprotocol/logLevel': logLevel }),
        ...(token && { progressToken: token }),
      };
      const id = this.#say(method, { ...params, ...answers }, meta, giveUp);
      let givenUp = false;
      void giveUp?.then(() => {
        givenUp = true;
      });
      await until(() => givenUp || this.#ear.heard.some(isAnswer(id)), `${method} is answered`);
      const { result, error } = this.#ear.heard.find(isAnswer(id)) ?? {};
      const told = this.#ear.told.slice(before.length);
      if (result?.resultType !== 'input_required' || answer === undefined) return { result, error, told, asked, token };
      const { inputRequests, requestState } = result;
      const questions = Object.entries<Question>(inputRequests ?? {});
      asked.push(...questions.map(([, question]) => question));
      answers = {
        inputResponses: Object.fromEntries(questions.map(([name, question]) => [name, answer(question)])),
        ...(requestState !== undefined && { requestState }),
      };
    }
  }

  async listen(uris: readonly string[]): Promise<void> {
    this.#say('subscriptions/listen', { notifications: { toolsListChanged: true, resourceSubscriptions: uris } });
    await this.hears('notifications/subscriptions/acknowledged');
  }

  hears(method: string, fits?: (params: Json) => boolean): Promise<Json> {
    return this.#ear.hears(method, fits);
  }

  get told(): readonly Json[] {
    return this.#ear.told;
  }

  #say(method: string, params: object, meta: object = {}, giveUp?: Promise<unknown>): string {
    const id = `request ${++this.#last}`;
    const { body, headers } = modern({ id, method, params: { ...params }, capabilities: this.#capabilities, meta });
    const said = this.#line.say(body, headers);
    void giveUp?.then(() => said.drop());
    return id;
  }
}

export const speakers: Readonly<Record<Era, (line: Line, introduction: Introduction) => Promise<Speaker>>> = {
  legacy: LegacySpeaker.open,
  modern: ModernSpeaker.open,
};
