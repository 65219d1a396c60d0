/**
 * What the two servers of these suites have in common, apart from their SDK. A server may run in a process that the
 * gateway started: it reports facts to the test, and takes orders from it.
 */

/**
 * What a test has a server do. `grow`: one tool more. `update`: that resource has changed. `finish`: calls that wait
 * for it.
 */
export type Order = { readonly kind: 'grow' | 'finish' } | { readonly kind: 'update'; readonly uri: string };

/** What a server saw, and no client can see. */
export type Fact =
  | { readonly kind: 'waiting' | 'cancelled' }
  | { readonly kind: 'subscribed' | 'unsubscribed'; readonly uri: string };

export interface World {
  /** Whether the order to grow was given, to this instance or to one before it. */
  grown: boolean;
  /** Whether the URL elicitation was sent. */
  visited: boolean;
  /** Calls that finish on an order. */
  readonly unfinished: Set<() => void>;
  tell(fact: Fact): void;
}

export function newWorld(tell: (fact: Fact) => void): World {
  return { grown: false, visited: false, unfinished: new Set(), tell };
}

/** What an order means for the world, whichever instances there are. */
export function pass(order: Order, world: World): void {
  if (order.kind === 'grow') world.grown = true;
  if (order.kind !== 'finish') return;
  for (const finish of world.unfinished) finish();
  world.unfinished.clear();
}

/** One instance of a server. */
export interface Built<T> {
  readonly server: T;
  obey(order: Order): void;
}

export const info = { name: 'crossed', version: '1.2.3', title: 'Both ways' };
export const instructions = 'Ask away.';

export const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });

/** A form with one field. */
export const form = (field: string) => ({
  message: `Your ${field}?`,
  requestedSchema: {
    type: 'object' as const,
    properties: { [field]: { type: 'string' as const } },
    required: [field],
  },
});

export const steps = ['one', 'two', 'three'] as const;
export const question = {
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Capital of France?' } }],
  maxTokens: 10,
};
export const visit = { message: 'Please sign in', url: 'https://sign.in.example/?a=b' };

export const readme = 'doc://readme';
export const diary = 'doc://diary';
export const notes = ['ada', 'alan', 'grace'];
export const noteUri = 'note://{name}';

/** More prompts than one page has. */
export const prompts = ['hello', 'p-1', 'p-2', 'p-3', 'p-4'];
export const PAGE = 2;

export function promptPage(cursor: string | undefined): { prompts: { name: string }[]; nextCursor?: string } {
  const start = cursor === undefined ? 0 : Number(cursor.slice('from '.length));
  const next = start + PAGE;
  const page = prompts.slice(start, next).map((name) => ({ name }));
  return { prompts: page, ...(next < prompts.length ? { nextCursor: `from ${next}` } : {}) };
}

export const prompted = (prompt: string, name: string) => ({
  messages: [{ role: 'user' as const, content: { type: 'text' as const, text: `${prompt} ${name}` } }],
});

export const document = (uri: string) => ({
  name: uri.slice('doc://'.length),
  read: () => ({ contents: [{ uri, mimeType: 'text/plain', text: `of ${uri}` }] }),
});

/** Completes the name of a note. */
export const likeNotes = (value: string) => notes.filter((name) => name.startsWith(value));
