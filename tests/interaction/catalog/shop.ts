/**
 * A backend with configured lists, in pages. It signs every result, so that a test sees which backend answered. It is
 * the same in both eras.
 */
import type { Era } from '../../../src/wire/revisions.ts';
import { type Json, until } from '../harness/client.ts';
import {
  everyCapability,
  legacyBackend,
  modernBackend,
  type Script,
  type ScriptedBackend,
  type ScriptedOptions,
  type Turn,
} from '../harness/http-backend.ts';

/** An entry as the very text that goes over the wire, or as a value. */
export type Ware = string | object;

export interface Goods extends ScriptedOptions {
  tools?: readonly Ware[];
  prompts?: readonly Ware[];
  resources?: readonly Ware[];
  templates?: readonly Ware[];
  /** Entries on a page. */
  readonly page?: number;
  /** The cursor of each page after the first; the first is asked for with none. */
  readonly cursors?: readonly string[];
  /** Modern: how long a list is good, and for whom. */
  readonly ttlMs?: number;
  readonly cacheScope?: 'public' | 'private';
  /** Instead of what a shop does. */
  readonly script?: Script;
}

export const kinds = ['tools', 'prompts', 'resources'] as const;
export type Kind = (typeof kinds)[number];

const lists = {
  'tools/list': { key: 'tools', goods: 'tools' },
  'prompts/list': { key: 'prompts', goods: 'prompts' },
  'resources/list': { key: 'resources', goods: 'resources' },
  'resources/templates/list': { key: 'resourceTemplates', goods: 'templates' },
} as const;
export type ListMethod = keyof typeof lists;
export const listMethods = Object.keys(lists) as readonly ListMethod[];

const key = 'io.modelcontextprotocol/';

/** A stream on which a shop can tell something: of a session, or of a subscription. */
interface Ear {
  readonly turn: Turn;
  readonly filter: Json;
  readonly session: string;
}

export class Shop {
  readonly name: string;
  readonly era: Era;
  readonly goods: Goods;
  /** Legacy: what it does with the standalone stream of a session. */
  standing = (turn: Turn): void => this.#listen(turn.stream(), undefined);
  readonly #ears: Ear[] = [];
  readonly #subscribed = new Map<string, Set<string>>();
  /** Legacy: sessions that it knows, and those that it knows no longer. */
  readonly #sessions = new Set<string>();
  readonly #forgotten = new Set<string>();
  #backend: ScriptedBackend | undefined;

  constructor(era: Era, name: string, goods: Goods) {
    this.era = era;
    this.name = name;
    this.goods = goods;
  }

  get backend(): ScriptedBackend {
    if (this.#backend === undefined) throw new Error('the shop is not open');
    return this.#backend;
  }

  async start(): Promise<this> {
    const launch = this.era === 'modern' ? modernBackend : legacyBackend;
    const { capabilities = everyCapability } = this.goods;
    const serverInfo = { name: this.name, version: '1' };
    const script = Object.entries({ ...this.#script(), ...this.goods.script });
    const guarded = script.map(([method, act]) => [method, (turn: Turn) => this.#guard(turn, act)] as const);
    this.#backend = await launch(Object.fromEntries(guarded), { serverInfo, ...this.goods, capabilities });
    return this;
  }

  /** As after a restart: every session is unknown. */
  forgetSessions(): void {
    for (const session of this.#sessions) this.#forgotten.add(session);
  }

  #guard(turn: Turn, act: (turn: Turn) => void): void {
    const session = sessionOf(turn);
    if (session !== '') this.#sessions.add(session);
    if (!this.#forgotten.has(session)) act(turn);
    else
      turn.raw(
        404,
        { 'content-type': 'application/json' },
        '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"}}',
      );
  }

  /** How often it was asked for that. */
  count(method: string): number {
    return this.backend.of(method).length;
  }

  /** Streams that are open now. */
  get ears(): number {
    return this.#ears.length;
  }

  /** Tells everybody who listens that the list changed, as soon as anybody does. */
  async changed(kind: Kind, times = 1): Promise<void> {
    const wants = ({ filter }: Ear) => filter === undefined || filter[`${kind}ListChanged`] === true;
    await until(() => this.#ears.some(wants), `somebody listens to ${this.name}`);
    for (const ear of this.#ears.filter(wants)) {
      for (let i = 0; i < times; i++) this.#tell(ear, `notifications/${kind}/list_changed`, {});
    }
  }

  /** Tells those who subscribed that the resource changed. */
  async updated(uri: string): Promise<void> {
    const wants = ({ filter, session }: Ear) =>
      filter === undefined
        ? this.#subscribed.get(session)?.has(uri) === true
        : filter.resourceSubscriptions?.includes(uri) === true;
    await until(() => this.#ears.some(wants), `somebody has subscribed to ${uri} of ${this.name}`);
    for (const ear of this.#ears.filter(wants)) this.#tell(ear, 'notifications/resources/updated', { uri });
  }

  /** Who has subscribed to it, over all sessions and streams that are open. */
  subscribers(uri: string): number {
    return this.#ears.filter(({ filter, session }) =>
      filter === undefined ? this.#subscribed.get(session)?.has(uri) : filter.resourceSubscriptions?.includes(uri),
    ).length;
  }

  #tell({ turn, filter }: Ear, method: string, params: object): void {
    const _meta = filter === undefined ? {} : { _meta: { [`${key}subscriptionId`]: turn.message.id } };
    turn.event({ jsonrpc: '2.0', method, params: { ...params, ..._meta } });
  }

  #listen(turn: Turn, filter: Json): void {
    const ear = { turn, filter, session: sessionOf(turn) };
    this.#ears.push(ear);
    void turn.closed.then(() => this.#ears.splice(this.#ears.indexOf(ear), 1));
  }

  #script(): Script {
    const signed = (turn: Turn, about: unknown) => `${this.name}: ${JSON.stringify(about)} ${turn.message.id}`;
    const done = (turn: Turn, result: object) =>
      turn.result(this.era === 'modern' ? { resultType: 'complete', ...result } : result);
    const cached = this.era === 'modern' ? { ttlMs: 0, cacheScope: 'private' } : {};
    return {
      ...Object.fromEntries(listMethods.map((method) => [method, (turn: Turn) => this.#list(turn, method)])),
      'tools/call': (turn) => {
        const { name, arguments: args } = turn.message.params;
        done(turn, { content: [{ type: 'text', text: signed(turn, [name, args]) }] });
      },
      'prompts/get': (turn) => {
        const content = { type: 'text', text: signed(turn, turn.message.params.name) };
        done(turn, { messages: [{ role: 'user', content }] });
      },
      'resources/read': (turn) => {
        const { uri } = turn.message.params;
        done(turn, { contents: [{ uri, text: signed(turn, uri) }], ...cached });
      },
      'completion/complete': (turn) => {
        const { ref } = turn.message.params;
        done(turn, { completion: { values: [signed(turn, ref.name ?? ref.uri)] } });
      },
      'logging/setLevel': (turn) => done(turn, {}),
      'resources/subscribe': (turn) => {
        const session = sessionOf(turn);
        this.#subscribed.set(session, (this.#subscribed.get(session) ?? new Set()).add(turn.message.params.uri));
        done(turn, {});
      },
      'resources/unsubscribe': (turn) => {
        this.#subscribed.get(sessionOf(turn))?.delete(turn.message.params.uri);
        done(turn, {});
      },
      ...(this.era === 'legacy' && { GET: (turn: Turn) => this.standing(turn) }),
      'subscriptions/listen': (turn) => {
        const { notifications } = turn.message.params;
        turn.stream();
        this.#tell({ turn, filter: notifications, session: '' }, 'notifications/subscriptions/acknowledged', {
          notifications,
        });
        this.#listen(turn, notifications);
      },
    };
  }

  #list(turn: Turn, method: ListMethod): void {
    const { key: list, goods } = lists[method];
    const { page = 1000, cursors, ttlMs = 0, cacheScope = 'private' } = this.goods;
    const wares = this.goods[goods] ?? [];
    const { cursor } = turn.message.params ?? {};
    const at = cursor === undefined ? 0 : cursors === undefined ? Number(cursor) : cursors.indexOf(cursor) + 1;
    const start = cursors === undefined ? at : at * page;
    if (Number.isNaN(start) || (cursor !== undefined && at === 0)) {
      turn.error(-32602, 'Invalid cursor');
      return;
    }
    const end = start + page;
    const next = end >= wares.length ? undefined : cursors === undefined ? String(end) : cursors[at];
    const texts = wares.slice(start, end).map((ware) => (typeof ware === 'string' ? ware : JSON.stringify(ware)));
    const rest = {
      nextCursor: next,
      ...(this.era === 'modern' && { resultType: 'complete', ttlMs, cacheScope }),
    };
    const members = JSON.stringify(rest).slice(1, -1);
    const result = `{"${list}":[${texts.join(',')}]${members === '' ? '' : `,${members}`}}`;
    turn.json(`{"jsonrpc":"2.0","id":${JSON.stringify(turn.message.id)},"result":${result}}`);
  }
}

export function sessionOf(turn: Turn): string {
  return String(turn.received.headers['mcp-session-id'] ?? '');
}

/** Closed when the test is over. */
export function openShop(era: Era, name: string, goods: Goods = {}): Promise<Shop> {
  return new Shop(era, name, goods).start();
}

export const tool = (name: string, more: object = {}): Json => ({ name, inputSchema: { type: 'object' }, ...more });
export const prompt = (name: string, more: object = {}): Json => ({ name, ...more });
export const resource = (uri: string, more: object = {}): Json => ({ uri, name: uri, ...more });
export const template = (uriTemplate: string, more: object = {}): Json => ({ uriTemplate, name: uriTemplate, ...more });
