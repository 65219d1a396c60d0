/**
 * Tool parameters that are mirrored in `Mcp-Param-*` headers. Header and body must agree before a call is made. A tool
 * whose annotations break the rules is not listed.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#custom-headers-from-tool-parameters
 */
import { Failure } from '../errors/failure.ts';
import type { Principal } from '../identity/principal.ts';
import { concat, spliceMessage } from '../wire/compose.ts';
import type { Request, ResultResponse } from '../wire/message.ts';
import { checkParamHeaders, type ParamHeader, paramHeaders, paramHeaderValues } from '../wire/mirror.ts';
import { elementsAt, skimMessage } from '../wire/skim.ts';
import { member, slice, textMember, valueAt } from '../wire/values.ts';
import type { HeaderReader } from './arrival.ts';
import type { Clock } from './clock.ts';

/** How long the known tools of a backend are used without reading them again. A mismatch reads them at once. */
const KNOWN_MS = 60_000;
/** After a list was read, it is not read again this soon for a tool that was not in it. */
const RECENT_MS = 1_000;

/** How many views are kept: one for each pair of backend and principal. */
const VIEWS = 1_000;

const annotation = Buffer.from('"x-mcp-header"');

interface KnownHeaders {
  readonly tools: ReadonlyMap<string, readonly ParamHeader[]>;
  readonly at: number;
}

/** A backend as one principal sees it: other principals may see different schemas. */
export interface ToolView<Upstream> {
  readonly backend: string;
  readonly principal: Principal;
  /** An upstream session that is open anyway. */
  readonly upstream: Upstream;
}

/** Reads all tools of a backend, as parsed entries. */
export type ListTools<Upstream> = (upstream: Upstream) => Promise<readonly unknown[]>;

export class ToolHeaders<Upstream> {
  readonly #clock: Clock;
  readonly #list: ListTools<Upstream>;
  readonly #known = new Map<string, KnownHeaders>();
  readonly #reading = new Map<string, Promise<KnownHeaders>>();

  constructor(clock: Clock, list: ListTools<Upstream>) {
    this.#clock = clock;
    this.#list = list;
  }

  /** Called when backends were replaced. */
  forget(): void {
    this.#known.clear();
    this.#reading.clear();
  }

  /** The mismatch, or undefined. Returns a promise where the tool has to be looked up first. */
  check(
    view: ToolView<Upstream>,
    request: Request,
    header: HeaderReader,
  ): Failure | undefined | Promise<Failure | undefined> {
    const tool = toolOf(request);
    if (tool === undefined) return undefined;
    const known = this.#known.get(keyOf(view));
    if (known !== undefined && !this.#stale(known, tool)) {
      const headers = known.tools.get(tool);
      if (headers === undefined || headers.length === 0) return undefined;
      const mismatch = compare(headers, request, header);
      // The schema may have changed: the client may have seen a newer one than the gateway.
      if (mismatch === undefined || this.#clock.now() - known.at < RECENT_MS) return mismatch;
    }
    return this.#read(view).then(({ tools }) => compare(tools.get(tool) ?? [], request, header));
  }

  /**
   * The headers that a call needs where its client does not send them. `again`: the backend refused the previous ones.
   */
  async valuesFor(view: ToolView<Upstream>, request: Request, again = false): Promise<Record<string, string>> {
    const tool = toolOf(request);
    if (tool === undefined) return {};
    const known = this.#known.get(keyOf(view));
    const fresh = known === undefined || again || this.#stale(known, tool) ? await this.#read(view) : known;
    const headers = fresh.tools.get(tool) ?? [];
    const args = member(request.params, 'arguments');
    return headers.length === 0 ? {} : paramHeaderValues(headers, args && valueAt(request.bytes, args));
  }

  #stale(known: KnownHeaders, tool: string): boolean {
    const age = this.#clock.now() - known.at;
    return age > KNOWN_MS || (!known.tools.has(tool) && age > RECENT_MS);
  }

  /**
   * What was known is still the best guess. A backend that refuses to list its tools has announced no annotation to any
   * client.
   */
  #otherwise(key: string, error: unknown): KnownHeaders['tools'] {
    const known = this.#known.get(key);
    if (known !== undefined) return known.tools;
    if (error instanceof Failure && error.reason === 'backend_invalid') return new Map();
    throw error;
  }

  #read(view: ToolView<Upstream>): Promise<KnownHeaders> {
    const key = keyOf(view);
    const reading = this.#reading.get(key);
    if (reading !== undefined) return reading;
    const fresh = this.#list(view.upstream)
      .then((tools) => new Map(tools.flatMap(entryOf)))
      .catch((error: unknown) => this.#otherwise(key, error))
      .then((tools) => {
        const known = { tools, at: this.#clock.now() };
        this.#known.delete(key);
        this.#known.set(key, known);
        for (const oldest of this.#known.keys()) {
          if (this.#known.size <= VIEWS) break;
          this.#known.delete(oldest);
        }
        return known;
      })
      .finally(() => this.#reading.delete(key));
    this.#reading.set(key, fresh);
    return fresh;
  }
}

/** The local principal is the only one, so the backend is enough. */
function keyOf({ backend, principal: { kind, key } }: ToolView<unknown>): string {
  // A principal's key contains no line feed, so this is unambiguous.
  return kind === 'local' ? backend : `${backend}\n${key}`;
}

function toolOf({ bytes, params }: Request): string | undefined {
  return textMember(bytes, params, 'name');
}

function entryOf(tool: unknown): (readonly [string, readonly ParamHeader[]])[] {
  if (typeof tool !== 'object' || tool === null || !('name' in tool) || typeof tool.name !== 'string') return [];
  const read = paramHeaders('inputSchema' in tool ? tool.inputSchema : undefined);
  return [[tool.name, 'headers' in read ? read.headers : []]];
}

function compare(headers: readonly ParamHeader[], request: Request, header: HeaderReader): Failure | undefined {
  if (headers.length === 0) return undefined;
  const args = member(request.params, 'arguments');
  return checkParamHeaders(headers, args && valueAt(request.bytes, args), header);
}

/**
 * The list without the tools whose annotations are invalid. Lists without annotations, which are almost all, are not
 * parsed.
 */
export function withoutInvalidTools(
  message: ResultResponse,
  warn: (tool: string, why: string) => void,
): ResultResponse {
  const tools = member(message.result, 'tools');
  if (
    tools === undefined ||
    Buffer.from(message.bytes.buffer, message.bytes.byteOffset, message.bytes.byteLength).indexOf(annotation) === -1
  )
    return message;
  const elements = elementsAt(message.bytes, tools) ?? [];
  const kept = elements.filter((element) => {
    const tool = valueAt(message.bytes, element) as { name?: unknown; inputSchema?: unknown } | null;
    const read = paramHeaders(tool?.inputSchema);
    if ('invalid' in read) warn(String(tool?.name), read.invalid);
    return !('invalid' in read);
  });
  if (kept.length === elements.length) return message;
  const joined = kept.flatMap((element) => [',', slice(message.bytes, element)]).slice(1);
  const array = concat(['[', ...joined, ']']);
  const rebuilt = skimMessage(spliceMessage(message, [{ span: tools, with: array }]));
  return rebuilt.kind === 'result' ? rebuilt : message;
}
