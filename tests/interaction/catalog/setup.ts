/** Many shops behind one endpoint, and guests of both eras who want the same there. */
import type { Era } from '../../../src/wire/revisions.ts';
import { request } from '../harness/behind.ts';
import { type Answer, type Headers, type Json, type OpenAnswer, open, send, until } from '../harness/client.ts';
import { connectLegacy, type Introduction, type LegacyClient, modern } from '../harness/eras.ts';
import { type ConfigValue, type Ports, startGateway, type TestGateway } from '../harness/gateway.ts';
import type { ListMethod, Shop } from './shop.ts';

export interface Market {
  /** Of the one endpoint: path, names and whatever else it may have. */
  readonly endpoint?: ConfigValue;
  readonly endpoints?: readonly ConfigValue[];
  readonly limits?: Readonly<Record<string, number>>;
  readonly ports?: Ports;
}

export function openMarket(shops: readonly Shop[], market: Market = {}): Promise<TestGateway> {
  const { endpoint, endpoints, limits, ports } = market;
  const backends = Object.fromEntries(shops.map(({ name, backend }) => [name, { url: backend.url }]));
  return startGateway(
    {
      backends,
      ...(endpoint && { endpoints: [{ path: '/mcp', ...endpoint }] }),
      ...(endpoints && { endpoints }),
      ...(limits && { limits }),
    },
    ports,
  );
}

const listKeys = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const satisfies Readonly<Record<ListMethod, string>>;

/** A client of either era, in the same words. */
export interface Guest {
  readonly era: Era;
  readonly greeting: Json;
  /** The whole answer, however it came. */
  send(method: string, params?: Json, headers?: Headers): Promise<Answer>;
  /** The same as JSON. */
  ask(method: string, params?: Json, headers?: Headers): Promise<Json>;
  /** The answer while it goes on. */
  begin(method: string, params?: Json): Promise<OpenAnswer>;
  /** Every page, from the first to the last. */
  pages(method: ListMethod): Promise<readonly Json[]>;
  /** The entries of all pages. */
  all(method: ListMethod): Promise<readonly Json[]>;
  /** What changes is heard from now on: on the session's stream, or on one that was asked for. */
  listen(filter: Json): Promise<OpenAnswer>;
}

let asked = 0;

abstract class Base {
  abstract readonly era: Era;
  abstract begin(method: string, params?: Json, headers?: Headers, id?: string): Promise<OpenAnswer>;
  abstract send(method: string, params?: Json, headers?: Headers, id?: string): Promise<Answer>;

  async ask(method: string, params: Json = {}, headers: Headers = {}): Promise<Json> {
    const id = `ask ${++asked}`;
    const answer = await this.send(method, params, headers, id);
    if (!answer.headers['content-type']?.toString().startsWith('text/event-stream')) return answer.json();
    return answer.events.flatMap(({ data, json }) => (data ? [json()] : [])).find((one) => one.id === id);
  }

  async pages(method: ListMethod): Promise<readonly Json[]> {
    const pages: Json[] = [];
    for (let cursor: string | undefined; ; ) {
      const { result, error } = await this.ask(method, cursor === undefined ? {} : { cursor });
      if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
      pages.push(result);
      cursor = result.nextCursor;
      if (cursor === undefined) return pages;
    }
  }

  async all(method: ListMethod): Promise<readonly Json[]> {
    return (await this.pages(method)).flatMap((page) => page[listKeys[method]]);
  }
}

class ModernGuest extends Base implements Guest {
  readonly era = 'modern';
  readonly #url: string;
  readonly #capabilities: object;
  readonly greeting: Json;

  constructor(url: string, capabilities: object, greeting: Json) {
    super();
    this.#url = url;
    this.#capabilities = capabilities;
    this.greeting = greeting;
  }

  static async enter(url: string, { capabilities = {} }: Introduction): Promise<ModernGuest> {
    const answer = await send(url, modern({ method: 'server/discover', capabilities }));
    return new ModernGuest(url, capabilities, answer.json().result);
  }

  send(method: string, params: Json = {}, headers: Headers = {}, id = `send ${++asked}`): Promise<Answer> {
    return send(this.#url, this.#call(method, params, headers, id));
  }

  begin(method: string, params: Json = {}, headers: Headers = {}, id = `begin ${++asked}`): Promise<OpenAnswer> {
    return open(this.#url, this.#call(method, params, headers, id));
  }

  async listen(filter: Json): Promise<OpenAnswer> {
    const stream = await this.begin('subscriptions/listen', { notifications: filter });
    await stream.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
    return stream;
  }

  #call(method: string, params: Json, headers: Headers, id: string) {
    return modern({ id, method, params, headers, capabilities: this.#capabilities });
  }
}

class LegacyGuest extends Base implements Guest {
  readonly era = 'legacy';
  readonly client: LegacyClient;

  constructor(client: LegacyClient) {
    super();
    this.client = client;
  }

  get greeting(): Json {
    return this.client.initialized;
  }

  send(method: string, params: Json = {}, headers: Headers = {}, id = `send ${++asked}`): Promise<Answer> {
    return this.client.post(request(id, method, params), headers);
  }

  begin(method: string, params: Json = {}, headers: Headers = {}, id = `begin ${++asked}`): Promise<OpenAnswer> {
    return this.client.stream(request(id, method, params), headers);
  }

  async listen(filter: Json): Promise<OpenAnswer> {
    const stream = await this.client.listen();
    for (const uri of filter.resourceSubscriptions ?? []) await this.ask('resources/subscribe', { uri });
    return stream;
  }
}

export async function enter(era: Era, url: string, introduction: Introduction = {}): Promise<Guest> {
  if (era === 'modern') return ModernGuest.enter(url, introduction);
  return new LegacyGuest(await connectLegacy(url, introduction));
}

export async function enterLegacy(url: string, introduction: Introduction = {}): Promise<LegacyGuest> {
  return new LegacyGuest(await connectLegacy(url, introduction));
}

/** The names, or addresses, of entries. */
export function namesOf(entries: readonly Json[]): readonly string[] {
  return entries.map(({ uri, uriTemplate, name }) => uri ?? uriTemplate ?? name);
}

/** The text of an answer to a call, a prompt, a read or a completion: it begins with the name of the shop. */
export function signature({ result, error }: Json): string {
  const { content, messages, contents, completion } = result ?? {};
  const found = content?.[0].text ?? messages?.[0].content.text ?? contents?.[0].text ?? completion?.values[0];
  return found ?? JSON.stringify(error);
}

/** Messages of one method on a stream so far. */
export function heard(stream: OpenAnswer, method: string): readonly Json[] {
  return stream.events.flatMap(({ data, json }) => (data ? [json()] : [])).filter((one) => one.method === method);
}

/** Asks again and again until it is so. */
export async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  let so = false;
  let asking = false;
  await until(() => {
    if (!so && !asking) {
      asking = true;
      void isSo().then((now) => {
        so = now;
        asking = false;
      });
    }
    return so;
  }, 'it is so');
}
