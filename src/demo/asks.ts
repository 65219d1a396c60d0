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
 * A legacy client gets JSON-RPC requests, and the promise waits for its responses. For a modern client the request ends here
 * with `input_required`, and the handler runs **again from its start** when the client comes back: so a handler asks before it
 * does anything that should happen once, asks the same things given the same answers, and uses each key for one question.
 */
export type Ask = <Key extends string>(requests: { readonly [key in Key]: AskRequest }) => Promise<Answers<Key>>;

/** `mode` is left out of forms: it is optional in every revision, and unknown before 2025-11-25. */
export function form(message: string, properties: JsonObject, required: readonly string[]): AskRequest {
  return {
    method: 'elicitation/create',
    params: { message, requestedSchema: { type: 'object', properties, required } },
  };
}

export function visit(message: string, url: string): AskRequest {
  return { method: 'elicitation/create', params: { mode: 'url', message, url } };
}

export function sample(systemPrompt: string, text: string, maxTokens: number): AskRequest {
  const messages = [{ role: 'user', content: { type: 'text', text } }];
  return { method: 'sampling/createMessage', params: { messages, systemPrompt, maxTokens } };
}

export const roots: AskRequest = { method: 'roots/list' };

function capabilityFor(request: AskRequest): JsonObject {
  switch (request.method) {
    case 'elicitation/create':
      return { elicitation: request.params.mode === 'url' ? { url: {} } : { form: {} } };
    case 'sampling/createMessage':
      return { sampling: {} };
    case 'roots/list':
      return { roots: {} };
  }
}

function declares(capabilities: JsonObject, request: AskRequest): boolean {
  if (request.method === 'sampling/createMessage') return isObject(capabilities.sampling);
  if (request.method === 'roots/list') return isObject(capabilities.roots);
  const modes = capabilities.elicitation;
  if (!isObject(modes)) return false;
  if (request.params.mode === 'url') return isObject(modes.url);
  // An empty object means forms alone: https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#capabilities
  return isObject(modes.form) || modes.url === undefined;
}

/** The capabilities that these questions need and the client has not declared; `undefined` where all may be asked. */
export function missingCapabilities(capabilities: JsonObject, requests: Iterable<AskRequest>): JsonObject | undefined {
  const missing: Record<string, object> = {};
  for (const request of requests) {
    if (declares(capabilities, request)) continue;
    for (const [name, needed] of Object.entries(capabilityFor(request)))
      missing[name] = { ...missing[name], ...(needed as object) };
  }
  return Object.keys(missing).length === 0 ? undefined : missing;
}

/** What the user filled in, or `undefined` if they declined or dismissed the form. */
export function accepted(answer: JsonObject): JsonObject | undefined {
  if (answer.action !== 'accept') return undefined;
  return isObject(answer.content) ? answer.content : {};
}

/** Content is one block, or since 2025-11-25 an array of them. */
export function sampledText(answer: JsonObject): string {
  const blocks = Array.isArray(answer.content) ? answer.content : [answer.content];
  return blocks.flatMap((block) => (isObject(block) && typeof block.text === 'string' ? [block.text] : [])).join('\n');
}

export function rootUris(answer: JsonObject): readonly string[] {
  const listed = Array.isArray(answer.roots) ? answer.roots : [];
  return listed.flatMap((root) => (isObject(root) && typeof root.uri === 'string' ? [root.uri] : []));
}
