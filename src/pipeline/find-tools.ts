/** Answers `find_tools`, from the list that the caller would get, with whole entries. */
import type { CallStarter } from '../bridge/responder.ts';
import { LONGEST_QUERY, MOST_FOUND, USUALLY_FOUND } from '../budget/find-tools.ts';
import { structuredResult, toolError } from '../budget/results.ts';
import { stubOf } from '../budget/stub.ts';
import type { ListedEntry } from '../catalog/view.ts';
import type { Request } from '../wire/message.ts';
import { isObject, member, slice, valueAt } from '../wire/values.ts';
import type { RequestContext } from './context.ts';
import { filtersEntries, shownAmong } from './decide-outside.ts';
import { settle } from './own-result.ts';
import type { StageServices } from './services.ts';
import { shownTools } from './tools-list.ts';

/** Of the entries of one answer together: an answer fills the context that the budget keeps free. */
const MOST_BYTES = 64 * 1024;
/** Of the whole arguments: more than the longest question needs. */
const MOST_ARGUMENT_BYTES = 16 * 1024;

export function findCall(services: StageServices, context: RequestContext): CallStarter {
  return {
    start: ({ message }, sink) => {
      const waiting = new AbortController();
      answer(services, context, message, waiting.signal).then(
        (result) => {
          if (!waiting.signal.aborted) settle(sink, result);
        },
        (error: unknown) => {
          if (!waiting.signal.aborted) sink.settle({ kind: 'failure', failure: services.shared.fault(error) });
        },
      );
      return { cancel: () => waiting.abort() };
    },
  };
}

async function answer(
  services: StageServices,
  context: RequestContext,
  message: Request,
  signal: AbortSignal,
): Promise<object> {
  const wish = wishOf(message);
  if (typeof wish === 'string') return toolError(wish);
  const { view, version } = await shownTools(services, context);
  const { searches } = await import('../budget/searches.ts');
  // Decision points may hide some of what is found.
  const most = filtersEntries(context) ? 2 * MOST_FOUND : wish.limit;
  const found = await searches.find(context.principal.key, { version, places: view.places }, wish.query, most, signal);
  if (found === 'busy') return toolError('Too many searches are waiting. Try again in a moment.');
  const shown = filtersEntries(context) ? await shownAmong(context, found.map(asRuled)) : undefined;
  const kept = shown === undefined ? found : found.filter((_tool, at) => shown[at] === true);
  if (kept.length === 0) {
    return structuredResult({ tools: [] }, 'No tool fits. Other words may find one; tools/list has all names.');
  }
  const { tools, isCut } = withinBytes(kept.slice(0, wish.limit));
  const note = isCut
    ? 'Some input schemas are left out, because they are too large: ask for the tools one by one.'
    : undefined;
  return structuredResult({ tools }, note);
}

interface Wish {
  readonly query: string;
  readonly limit: number;
}

/** Or what is wrong with it. */
function wishOf({ bytes, params }: Request): Wish | string {
  const span = member(params, 'arguments');
  const wrong = `find_tools needs \`query\`, a text of at most ${LONGEST_QUERY} characters, and takes \`limit\`, 1 to ${MOST_FOUND}.`;
  if (span === undefined || slice(bytes, span).byteLength > MOST_ARGUMENT_BYTES) return wrong;
  const given = valueAt(bytes, span);
  if (!isObject(given)) return wrong;
  const { query, limit = USUALLY_FOUND } = given;
  if (typeof query !== 'string' || query.length > LONGEST_QUERY) return wrong;
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MOST_FOUND) return wrong;
  return { query, limit };
}

function asRuled({ clientName, ruleName = clientName, backend }: ListedEntry) {
  return { name: ruleName, backend };
}

/** Whole entries as far as there is room, in their order; the others in short form. */
function withinBytes(found: readonly ListedEntry[]): { readonly tools: readonly object[]; readonly isCut: boolean } {
  let room = MOST_BYTES;
  let isCut = false;
  const tools = found.flatMap(({ bytes }) => {
    const entry = valueAt(bytes, { start: 0, end: bytes.byteLength });
    if (!isObject(entry)) return [];
    if (bytes.byteLength > room) {
      isCut = true;
      return [stubOf(entry)];
    }
    room -= bytes.byteLength;
    return [entry];
  });
  return { tools, isCut };
}
