/** What the server can ask of a client, which capability each question needs, and how to read the answers. */
import { isObject, type JsonObject } from './message.ts';

export type AskRequest =
  | { readonly method: 'elicitation/create'; readonly params: JsonObject & { readonly mode?: 'url' } }
  | { readonly method: 'sampling/createMessage'; readonly params: JsonObject }
  | { readonly method: 'roots/list' };

export type Answers<Key extends string> = { readonly [key in Key]: JsonObject };

/**
 * Asks for everything it is given at once and returns the answers under the same keys.
 *
 * A legacy client gets JSON-RPC requests, and the promise waits for its responses. For a modern client the request ends
 * here with `input_required`, and the handler runs **again from its start** when the client comes back: so a handler
 * asks before it does anything that should happen once, asks the same things given the same answers, and uses each key
 * for one question.
 */
export type Ask = <Key extends string>(requests: { readonly [key in Key]: AskRequest }) => Promise<Answers<Key>>;

/** `mode` is left out of forms: it is optional in every revision, and unknown before 2025-11-25. */
export function form(message: string, properties: JsonObject, required = Object.keys(properties)): AskRequest {
  const requestedSchema = { type: 'object', properties, required };
  return { method: 'elicitation/create', params: { message, requestedSchema } };
}

export const nameField = { type: 'string', title: 'Name', minLength: 1 };
export const nameForm = form('What is your name?', { name: nameField });

/** The capability that the question needs and the client has not declared. */
function missing(capabilities: JsonObject, request: AskRequest): JsonObject {
  if (request.method !== 'elicitation/create') {
    const needed = request.method === 'roots/list' ? 'roots' : 'sampling';
    return isObject(capabilities[needed]) ? {} : { [needed]: {} };
  }
  const { mode = 'form' } = request.params;
  const modes = capabilities.elicitation;
  // An empty object means forms alone:
  // https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#capabilities
  const has = isObject(modes) && (isObject(modes[mode]) || (mode === 'form' && modes.url === undefined));
  return has ? {} : { elicitation: { [mode]: {} } };
}

/**
 * The same of several questions; `undefined` where all may be asked. No handler asks for a form and a visit at once.
 */
export function missingCapabilities(capabilities: JsonObject, requests: AskRequest[]): JsonObject | undefined {
  const all: JsonObject = Object.assign({}, ...requests.map((request) => missing(capabilities, request)));
  return Object.keys(all).length === 0 ? undefined : all;
}

/** What the user filled in, or `undefined` if they declined or dismissed the form. */
export function accepted(answer: JsonObject): JsonObject | undefined {
  if (answer.action !== 'accept') return undefined;
  return isObject(answer.content) ? answer.content : {};
}

/**
 * The text members of these, which may be one or many: `content` is one block, or since 2025-11-25 an array of them.
 */
export function textsIn(value: unknown, member: string): readonly string[] {
  const items = Array.isArray(value) ? value : [value];
  return items.flatMap((item) => (isObject(item) && typeof item[member] === 'string' ? [item[member]] : []));
}
