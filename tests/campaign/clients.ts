/** Clients of the campaign: principals who call tools with tokens, in both eras, and sometimes leave in the middle. */

import type { Chance } from '../interaction/faults/chance.ts';
import { SERVED_BY } from '../redis/balancer.ts';
import { type Ended, type Exchange, exchange, type Message } from './http.ts';
import type { Entry, Ledger } from './ledger.ts';
import type { Saboteur } from './sabotage.ts';

export interface Principal {
  readonly name: string;
  readonly key: string;
}

export interface World {
  readonly origin: string;
  readonly ledger: Ledger;
  readonly saboteur: Saboteur;
  readonly chance: Chance;
  /**
   * True while the gateway has no descriptors: a connection that it cannot accept is refused by the system, not by it.
   */
  readonly isStarved: () => boolean;
  /** Why an answer could not come, where the campaign has ended the process that had to give it. */
  readonly excuse: (ended: Ended) => string | undefined;
  /** Whether Redis was away since then, so that not all replicas know what has ended. */
  readonly forgets: (since: number) => boolean;
  /** Why a session that was opened then may be gone. */
  readonly mayBeGone: (path: string, session: LegacySession) => boolean;
}

export interface LegacySession {
  readonly id: string;
  readonly openedAt: number;
  /** When it last gave a result. */
  usedAt: number;
}

const TOOLS = ['echo', 'echo', 'echo', 'slow', 'progress', 'ask', 'large'] as const;
/** Longer than every limit in the gateway's config. */
export const HUNG_MS = 60_000;

/** As the SDKs do it, with more patience. */
const MOST_RESUMPTIONS = 20;
const RESUME_MS = 250;
/** How often a session that was deleted is tried: at each of three replicas. */
const REVIVALS = 3;

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'campaign', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
};

abstract class Client {
  protected readonly world: World;
  protected readonly principal: Principal;
  #ids = 0;

  constructor(world: World, principal: Principal) {
    this.world = world;
    this.principal = principal;
  }

  protected nextId(): number {
    return ++this.#ids;
  }

  protected get authorization(): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.principal.key}` };
  }

  /** One call from its beginning to its answer, or to the moment when the client is gone. */
  async call(path: string, prefix: string): Promise<void> {
    const { chance, ledger } = this.world;
    const tool = chance.pick(TOOLS);
    const entry = ledger.begin(this.principal.name, `${this.constructor.name} ${tool} at ${path}`);
    const leaves = chance.once(25);
    let timer: NodeJS.Timeout | undefined;
    const hung = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        ledger.hung(entry);
        resolve();
      }, HUNG_MS);
    });
    await Promise.race([this.perform(entry, path, `${prefix}${tool}`, leaves), hung]);
    clearTimeout(timer);
    if (!this.world.saboteur.holds(entry)) ledger.ended(entry, 'the answer did not reach its caller');
  }

  protected abstract perform(entry: Entry, path: string, tool: string, leaves: boolean): Promise<void>;

  /** Sends one request and judges what comes back for it. Resolves with a result that asks for more. */
  protected async post(
    entry: Entry,
    url: string,
    id: number,
    how: Exchange,
    leaves: boolean,
  ): Promise<Message | undefined> {
    const { chance, ledger } = this.world;
    let more: Message | undefined;
    let answered = false;
    const onMessage = (message: Message, text: string) => {
      if (message.method !== undefined) return how.onMessage?.(message, text);
      if (message.id !== id && message.error === undefined) return;
      if (message.result?.resultType === 'input_required') more = message;
      else this.#answer(entry, text);
      answered = true;
      this.answered(entry, url, message);
    };
    let ended = await exchange(url, {
      ...how,
      ...(chance.once(20) ? { slowReads: 20 } : {}),
      onMessage,
      onRequest: (request) => {
        if (leaves) setTimeout(() => request.destroy(), chance.below(300));
      },
    });
    // A stream that was cut off is resumed where it ended, as SDK clients do.
    for (let tries = 0; !answered && !leaves && ended.lastEventId !== undefined && tries < MOST_RESUMPTIONS; tries++) {
      await new Promise((resolve) => setTimeout(resolve, RESUME_MS));
      const headers = { ...how.headers, accept: 'text/event-stream', 'last-event-id': ended.lastEventId };
      const { lastEventId } = ended;
      ended = { lastEventId, ...(await exchange(url, { method: 'GET', headers, onMessage })) };
      if (answered) ledger.note('resumed');
    }
    if (answered) return more;
    if (leaves) ledger.abandon(entry);
    else this.unanswered(entry, ended);
    return undefined;
  }

  /** For those who learn something from an answer. */
  protected answered(_entry: Entry, _url: string, _message: Message): void {
    // A modern client keeps nothing between calls.
  }

  #answer(entry: Entry, text: string): void {
    const { ledger, saboteur } = this.world;
    const judge = (said: string) => {
      const { error } = JSON.parse(said) as Message;
      if (error === undefined) ledger.result(entry, said);
      else ledger.error(entry, error.data?.reason ?? (error.code === -32001 ? 'session_not_found' : undefined), said);
    };
    saboteur.pass({ entry, text, deliver: (said = text) => judge(said) });
  }

  protected unanswered(entry: Entry, ended: Ended, what = ''): void {
    const { isStarved, excuse, ledger } = this.world;
    const { status, headers, text, error } = ended;
    const excused = excuse(ended);
    if (status === 0 && isStarved()) ledger.refuse(entry);
    else if (excused !== undefined) ledger.excuse(entry, excused);
    else
      ledger.ended(
        entry,
        `${what}status ${status} of ${headers[SERVED_BY] ?? 'the gateway'}, ${error ?? 'the answer ended'}: ${text.slice(-200)}`,
      );
  }
}

export class ModernClient extends Client {
  protected async perform(entry: Entry, path: string, tool: string, leaves: boolean): Promise<void> {
    const url = `${this.world.origin}${path}`;
    let extra: Readonly<Record<string, unknown>> = {};
    for (let round = 0; round < 5; round++) {
      const id = this.nextId();
      const params = { name: tool, arguments: { token: entry.token }, ...extra, _meta: { ...META, progressToken: id } };
      const headers = {
        ...this.authorization,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': tool,
      };
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
      const more = await this.post(entry, url, id, { headers, body }, leaves);
      if (more === undefined) return;
      const { inputRequests, requestState } = more.result ?? {};
      const answers = Object.keys(inputRequests ?? {}).map((key) => [
        key,
        { action: 'accept', content: { token: entry.token } },
      ]);
      extra = { inputResponses: Object.fromEntries(answers), ...(requestState === undefined ? {} : { requestState }) };
    }
  }
}

export class LegacyClient extends Client {
  readonly #sessions = new Map<string, LegacySession>();

  protected async perform(entry: Entry, path: string, tool: string, leaves: boolean): Promise<void> {
    const url = `${this.world.origin}${path}`;
    const session = this.#sessions.get(path) ?? (await this.#initialize(entry, path, url));
    if (session === undefined) return;
    const headers = { ...this.authorization, 'mcp-session-id': session.id, 'mcp-protocol-version': '2025-11-25' };
    const id = this.nextId();
    const params = { name: tool, arguments: { token: entry.token }, _meta: { progressToken: id } };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
    const onMessage = ({ id: question, method, params: asked }: Message) => {
      if (method !== 'elicitation/create') return;
      // By what is asked, not by where it came: a question that belongs to no stream may come on any.
      const token = asked?.message?.replace('For ', '');
      const result = { action: 'accept', content: { token } };
      void this.#answer(url, headers, JSON.stringify({ jsonrpc: '2.0', id: question, result }));
    };
    // Whoever leaves a legacy call leaves its answer in the event log: the call itself goes on.
    await this.post(entry, url, id, { headers, body, onMessage }, leaves);
    if (!this.world.chance.once(100)) return;
    this.#sessions.delete(path);
    if (this.world.chance.once(2)) await this.#delete(url, session.id);
  }

  /** An answer that could not be handed over is sent again: nobody else can give it. */
  async #answer(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<void> {
    for (let n = 0; n < 50; n++) {
      const { status } = await exchange(url, { headers, body });
      if (status === 202 || status === 404) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** A session that has ended must never live again. */
  async #delete(url: string, id: string): Promise<void> {
    const { ledger, forgets } = this.world;
    const headers = { ...this.authorization, 'mcp-session-id': id };
    const deletedAt = Date.now();
    const { status } = await exchange(url, { method: 'DELETE', headers });
    if (status !== 200 && status !== 204) return;
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.nextId(), method: 'ping' });
    for (let n = 0; n < REVIVALS; n++) {
      const { status: after } = await exchange(url, { headers, body });
      if (after === 200 && !forgets(deletedAt)) ledger.revived(id);
    }
  }

  /** A session that cannot be had is an answer to the call that needed it. */
  async #initialize(entry: Entry, path: string, url: string): Promise<LegacySession | undefined> {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 'campaign', version: '1' },
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    const ended = await exchange(url, { headers: this.authorization, body });
    const id = ended.headers['mcp-session-id'];
    if (typeof id === 'string') {
      const session = { id, openedAt: Date.now(), usedAt: Date.now() };
      this.#sessions.set(path, session);
      const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
      await exchange(url, { headers: { ...this.authorization, 'mcp-session-id': id }, body: initialized });
      return session;
    }
    const reason = reasonIn(ended.text);
    if (reason !== undefined) this.world.ledger.error(entry, reason, ended.text);
    else this.unanswered(entry, ended, 'no session: ');
    return undefined;
  }

  /** A client that is told that its session is gone begins a new one. */
  protected override answered(entry: Entry, url: string, { error }: Message): void {
    const path = new URL(url).pathname;
    const session = this.#sessions.get(path);
    if (error === undefined && session !== undefined) session.usedAt = Date.now();
    if (error?.code !== -32001) return;
    this.#sessions.delete(path);
    if (session !== undefined && !this.world.mayBeGone(path, session))
      this.world.ledger.find(
        'lost',
        entry,
        `its session, opened ${Date.now() - session.openedAt} ms ago, used ${Date.now() - session.usedAt} ms ago: ${error.message}`,
      );
  }

  async leave(): Promise<void> {
    for (const [path, { id }] of this.#sessions) await this.#delete(`${this.world.origin}${path}`, id);
    this.#sessions.clear();
  }
}

function reasonIn(text: string): string | undefined {
  const data = /data:\s*(\{.*\})/.exec(text)?.[1] ?? text;
  try {
    return (JSON.parse(data) as Message).error?.data?.reason;
  } catch {
    return undefined;
  }
}
