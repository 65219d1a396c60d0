/**
 * Backends of both eras that do the same thing. What they do is written once; how a server of each era asks, logs and
 * announces is written here.
 */
import type { Era } from '../../../src/wire/revisions.ts';
import { type Json, until } from '../harness/client.ts';
import type { Arrival, Hears, Wire } from './wires.ts';

/** Asked of the client; a URL elicitation of a legacy backend gets its id from the actor. */
export interface Question {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** What a backend can do while it works on a request. */
export interface Talk {
  readonly params: Json;
  progress(progress: number): void;
  log(level: string, data: string): void;
  /** Puts them all at once. The answers have the same names; an error is an answer too: `{ error }`. */
  ask(questions: Readonly<Record<string, Question>>): Promise<Record<string, Json>>;
  /** The client capabilities that the backend got. */
  readonly declared: Json;
  /** Resolves when the client gives the request up. */
  readonly cancelled: Promise<void>;
}

/** By method. A refusal is thrown: see `refused`. */
export type Deeds = Readonly<Record<string, (talk: Talk) => object | Promise<object>>>;

export interface Actor {
  readonly hears: Hears;
  /** What it asked, in its own words and in order. */
  readonly put: readonly Question[];
  /** Notifies listeners that the tools have changed, as soon as there is one. */
  toolsChanged(): Promise<void>;
  resourceUpdated(uri: string): Promise<void>;
}

class RpcError extends Error {
  readonly error: object;

  constructor(error: object) {
    super('refused');
    this.error = error;
  }
}

export function refused(code: number, message: string, data?: object): Error {
  return new RpcError({ code, message, ...(data && { data }) });
}

const key = 'io.modelcontextprotocol/';
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
/** What a server without a set level logs, if it may log at all. */
const DEFAULT_LEVEL = 'error';

const notification = (method: string, params: object = {}) => ({ jsonrpc: '2.0', method, params });
const listChanged = 'notifications/tools/list_changed';
const updated = 'notifications/resources/updated';

/** What both eras do in the same way: requests are worked on, answered once, and given up when the client says so. */
class Desk {
  readonly #deeds: Deeds;
  readonly #running = new Map<string, () => void>();

  constructor(deeds: Deeds) {
    this.#deeds = deeds;
  }

  hears(work: (arrival: Arrival) => void): Hears {
    return {
      ...Object.fromEntries(Object.keys(this.#deeds).map((method) => [method, work])),
      'notifications/cancelled': ({ message, session }) =>
        this.#running.get(`${session} ${message.params.requestId}`)?.(),
    };
  }

  /** `complete` puts a result into the words of the era; `instead` may answer for what was thrown. */
  async work(
    arrival: Arrival,
    talk: Pick<Talk, 'ask' | 'log' | 'declared'>,
    complete: (result: object) => object,
    instead: (thrown: unknown) => object | undefined = () => undefined,
  ): Promise<void> {
    const { id, method, params } = arrival.message;
    const cancelled = new Promise<void>((resolve) => {
      this.#running.set(`${arrival.session} ${id}`, resolve);
      void arrival.closed.then(resolve);
    });
    const progressToken = params?._meta?.progressToken;
    const progress = (so: number) =>
      arrival.say(notification('notifications/progress', { progressToken, progress: so }));
    try {
      const result = await this.#deeds[method]?.({ ...talk, params: params ?? {}, progress, cancelled });
      arrival.finish({ jsonrpc: '2.0', id, result: complete(result ?? {}) });
    } catch (thrown) {
      const result = instead(thrown);
      if (result !== undefined) arrival.finish({ jsonrpc: '2.0', id, result });
      else if (thrown instanceof RpcError) arrival.finish({ jsonrpc: '2.0', id, error: thrown.error });
      else arrival.finish({ jsonrpc: '2.0', id, error: { code: -32603, message: String(thrown) } });
    }
  }
}

const say = (arrival: Arrival, threshold: string | undefined) => (level: string, data: string) => {
  if (threshold !== undefined && levels.indexOf(level) >= levels.indexOf(threshold)) {
    arrival.say(notification('notifications/message', { level, data }));
  }
};

function legacyActor(deeds: Deeds, wire: () => Wire): Actor {
  const desk = new Desk(deeds);
  const asked = new Map<string, (answer: Json) => void>();
  const threshold = new Map<string, string>();
  const subscribed = new Map<string, Set<string>>();
  let newest: string | undefined;
  const put: Question[] = [];

  const question = (arrival: Arrival, { method, params }: Question): Promise<Json> => {
    const id = `ask ${put.length + 1}`;
    const visit = params?.mode === 'url' ? { elicitationId: `visit of ${id}` } : {};
    const one = { method, ...(params && { params: { ...params, ...visit } }) };
    put.push(one);
    arrival.say({ jsonrpc: '2.0', id, ...one });
    return new Promise((resolve) => asked.set(id, resolve));
  };
  const tell = async (whom: (session: string) => boolean, message: object): Promise<void> => {
    const those = () =>
      wire()
        .listeners()
        .filter(({ session }) => whom(session));
    await until(() => those().length > 0, 'somebody listens to the backend');
    for (const listener of those()) listener.say(message);
  };
  return {
    put,
    hears: {
      ...desk.hears((arrival) => {
        const ask: Talk['ask'] = async (questions) => {
          const answers = Object.entries(questions).map(async ([name, one]) => [name, await question(arrival, one)]);
          return Object.fromEntries(await Promise.all(answers));
        };
        const log = say(arrival, threshold.get(arrival.session) ?? DEFAULT_LEVEL);
        const declared = wire().introductions().at(-1)?.capabilities;
        void desk.work(arrival, { ask, log, declared }, (result) => result);
      }),
      response: ({ message: { id, result, error } }) => asked.get(id)?.(result ?? { error }),
      'notifications/initialized': ({ session }) => {
        newest = session;
      },
      'logging/setLevel': ({ session, message, finish }) => {
        threshold.set(session, message.params.level);
        finish({ jsonrpc: '2.0', id: message.id, result: {} });
      },
      'resources/subscribe': ({ session, message, finish }) => {
        subscribed.set(session, (subscribed.get(session) ?? new Set()).add(message.params.uri));
        finish({ jsonrpc: '2.0', id: message.id, result: {} });
      },
    },
    toolsChanged: () => tell((session) => session === newest, { jsonrpc: '2.0', method: listChanged }),
    resourceUpdated: (uri) =>
      tell((session) => subscribed.get(session)?.has(uri) === true, notification(updated, { uri })),
  };
}

/** What was asked and not answered yet: the request is over, and its retry brings the answers. */
class InputRequired {
  readonly questions: Readonly<Record<string, Question>>;
  readonly known: Readonly<Record<string, Json>>;

  constructor(questions: Readonly<Record<string, Question>>, known: Readonly<Record<string, Json>>) {
    this.questions = questions;
    this.known = known;
  }

  get open(): Readonly<Record<string, Question>> {
    return Object.fromEntries(Object.entries(this.questions).filter(([name]) => this.known[name] === undefined));
  }

  result(): object {
    return {
      resultType: 'input_required',
      inputRequests: this.open,
      requestState: JSON.stringify(this.known),
    };
  }
}

interface Subscription {
  readonly filter: Json;
  say(method: string, params: object): void;
}

/** Holds nothing between requests: a retry begins from the start, with the answers of all rounds so far. */
function modernActor(deeds: Deeds): Actor {
  const desk = new Desk(deeds);
  const put: Question[] = [];
  const subscriptions = new Set<Subscription>();
  const complete = (result: object) => ({ resultType: 'complete', ...result });
  const tell = async (wanted: (filter: Json) => boolean, method: string, params: object): Promise<void> => {
    const those = () => [...subscriptions].filter(({ filter }) => wanted(filter));
    await until(() => those().length > 0, 'somebody listens to the backend');
    for (const subscription of those()) subscription.say(method, params);
  };
  return {
    put,
    hears: {
      ...desk.hears((arrival) => {
        const { inputResponses, requestState, _meta } = arrival.message.params ?? {};
        const known = { ...JSON.parse(requestState ?? '{}'), ...inputResponses };
        const ask: Talk['ask'] = async (questions) => {
          if (Object.keys(questions).some((name) => known[name] === undefined))
            throw new InputRequired(questions, known);
          return Object.fromEntries(Object.keys(questions).map((name) => [name, known[name]]));
        };
        const log = say(arrival, _meta?.[`${key}logLevel`]);
        const instead = (thrown: unknown) => {
          if (!(thrown instanceof InputRequired)) return undefined;
          put.push(...Object.values(thrown.open));
          return thrown.result();
        };
        const declared = _meta?.[`${key}clientCapabilities`];
        void desk.work(arrival, { ask, log, declared }, complete, instead);
      }),
      'subscriptions/listen': (arrival) => {
        const { id, params } = arrival.message;
        const _meta = { [`${key}subscriptionId`]: id };
        const tellThis = (method: string, about: object) => arrival.say(notification(method, { ...about, _meta }));
        const subscription = { filter: params.notifications, say: tellThis };
        tellThis('notifications/subscriptions/acknowledged', { notifications: params.notifications });
        subscriptions.add(subscription);
        void arrival.closed.then(() => subscriptions.delete(subscription));
      },
    },
    toolsChanged: () => tell(({ toolsListChanged }) => toolsListChanged === true, listChanged, {}),
    resourceUpdated: (uri) =>
      tell(({ resourceSubscriptions }) => resourceSubscriptions?.includes(uri) === true, updated, { uri }),
  };
}

/** `wire` is there as soon as anything is heard. */
export const actors: Readonly<Record<Era, (deeds: Deeds, wire: () => Wire) => Actor>> = {
  legacy: legacyActor,
  modern: modernActor,
};
