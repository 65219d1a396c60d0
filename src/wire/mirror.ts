/**
 * Headers that repeat parts of the body, so that intermediaries can route without parsing it. A server that reads the
 * body must refuse a request whose headers disagree with it.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata
 */
import { Failure } from '../errors/failure.ts';
import { hasOther } from './fold.ts';
import type { Request } from './message.ts';
import type { MethodRow } from './methods.ts';
import { isObject, textMember } from './values.ts';
import { metaKeys } from './vocabulary.ts';

const PREFIX = '=?base64?';
const SUFFIX = '?=';
/** RFC 4648, section 4: padding is required. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** RFC 9110, section 5.5: visible ASCII, with spaces and tabs only inside. */
const PLAIN_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
const OPTIONAL_WHITE = /^[\t ]+|[\t ]+$/g;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** #value-encoding. A plain value that looks encoded is encoded too, so that it is not decoded by mistake. */
export function encodeHeaderValue(value: string): string {
  const looksEncoded = value.startsWith(PREFIX) && value.endsWith(SUFFIX);
  if (PLAIN_VALUE.test(value) && !looksEncoded) return value;
  return `${PREFIX}${Buffer.from(value).toString('base64')}${SUFFIX}`;
}

/** Undefined for characters that are not allowed in a header, or an encoding that is not the Base64 of UTF-8. */
export function decodeHeaderValue(value: string): string | undefined {
  const text = value.replace(OPTIONAL_WHITE, '');
  if (text === '') return '';
  if (!PLAIN_VALUE.test(text)) return undefined;
  if (!text.startsWith(PREFIX) || !text.endsWith(SUFFIX)) return text;
  const encoded = text.slice(PREFIX.length, -SUFFIX.length);
  if (text.length < PREFIX.length + SUFFIX.length || !BASE64.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  // Unused bits must be zero, or two spellings would mean the same.
  if (bytes.toString('base64') !== encoded) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

export interface MirroredHeaders {
  /** `MCP-Protocol-Version` */
  readonly version?: string | undefined;
  /** `Mcp-Method` */
  readonly method?: string | undefined;
  /** `Mcp-Name` */
  readonly name?: string | undefined;
}

/**
 * Checks that the headers of a modern request agree with its body. Whether the revision is supported is checked later.
 * A value that the body lacks is not compared: other checks refuse that (`_meta` without a version is -32602).
 */
export function checkMirrored(
  { bytes, method, params, meta, id }: Request,
  row: MethodRow | undefined,
  headers: MirroredHeaders,
): Failure | undefined {
  const version = textMember(bytes, meta, metaKeys.protocolVersion);
  if (headers.version === undefined || (version !== undefined && headers.version !== version)) {
    return mismatch('MCP-Protocol-Version', disagreement(headers.version), id.raw);
  }
  if (headers.method !== method) return mismatch('Mcp-Method', disagreement(headers.method), id.raw);
  if (row?.mirrored !== true || row.name === undefined) return undefined;
  const name = headers.name === undefined ? undefined : decodeHeaderValue(headers.name);
  // A name only in the header is a mismatch: an intermediary may have routed by it.
  if (name !== undefined && name === textMember(bytes, params, row.name)) return undefined;
  const isMalformed = headers.name !== undefined && name === undefined;
  return mismatch('Mcp-Name', isMalformed ? 'is not a valid header value' : disagreement(name), id.raw);
}

function disagreement(header: string | undefined): string {
  return header === undefined ? 'is missing' : 'differs from the body';
}

/** The message repeats neither value: names can be private, and responses end up in logs. */
function mismatch(header: string, what: string, id?: string): Failure {
  const detail = { message: `Header mismatch: ${header} ${what}`, data: { header } };
  return new Failure('header_mismatch', id === undefined ? detail : { ...detail, id });
}

export function mirroredHeaders(method: string, name: string | undefined, version: string): Record<string, string> {
  // Only names and parameters may be encoded. A method that would need encoding cannot be sent.
  if (encodeHeaderValue(method) !== method)
    throw new Failure('invalid_request', { message: 'Method is not plain ASCII' });
  const headers: Record<string, string> = { 'mcp-protocol-version': version, 'mcp-method': method };
  if (name !== undefined) headers['mcp-name'] = encodeHeaderValue(name);
  return headers;
}

/** An `x-mcp-header` annotation of a tool's `inputSchema`. */
export interface ParamHeader {
  /** In lower case: `mcp-param-region`. */
  readonly header: string;
  /** The `properties` keys on the path to the annotated parameter. */
  readonly path: readonly string[];
  readonly type: 'string' | 'integer' | 'boolean';
}

const DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?$/;
const ANNOTATION = 'x-mcp-header';
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * JSON Schema keywords that contain schemas, by the form of their value. An annotation below one of them cannot be
 * reached by `properties` alone, which makes the tool invalid. The values of other keywords (`default`, `enum`,
 * `examples`) are data and may have a member of that name.
 */
const HOLD_SCHEMA = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
const HOLD_LIST = new Set(['allOf', 'anyOf', 'items', 'oneOf', 'prefixItems']);
const HOLD_MAP = new Set(['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties']);

/** #schema-extension: all annotations, or why the tool must not be offered. */
export function paramHeaders(inputSchema: unknown): { headers: readonly ParamHeader[] } | { invalid: string } {
  const headers: ParamHeader[] = [];
  const invalid = collect(inputSchema, [], true, headers);
  return invalid === undefined ? { headers } : { invalid };
}

function collect(
  schema: unknown,
  path: readonly string[],
  reachable: boolean,
  found: ParamHeader[],
): string | undefined {
  if (!isObject(schema)) return undefined;
  if (Object.hasOwn(schema, ANNOTATION)) {
    const where = path.length === 0 ? 'the root' : path.join('.');
    if (!reachable || path.length === 0) return `${ANNOTATION} at ${where} is not reached by properties alone`;
    const fault = annotate(schema, path, found);
    if (fault !== undefined) return `${ANNOTATION} of ${where} ${fault}`;
  }
  const properties = own(schema, 'properties');
  if (isObject(properties)) {
    for (const key of Object.keys(properties)) {
      const fault = collect(properties[key], [...path, key], reachable, found);
      if (fault !== undefined) return fault;
    }
  }
  for (const child of unreachable(schema)) {
    const fault = collect(child, path, false, found);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Looks only at the keywords that the schema has: most have three, and every schema of every tool is read. */
function unreachable(schema: Record<string, unknown>): unknown[] {
  return Object.entries(schema).flatMap(([keyword, held]) => {
    if (HOLD_LIST.has(keyword) && Array.isArray(held)) return held;
    if (HOLD_MAP.has(keyword) && isObject(held)) return Object.values(held);
    return HOLD_SCHEMA.has(keyword) ? [held] : [];
  });
}

function annotate(schema: Record<string, unknown>, path: readonly string[], found: ParamHeader[]): string | undefined {
  const name = schema[ANNOTATION];
  const type = own(schema, 'type');
  if (typeof name !== 'string' || !TOKEN.test(name)) return 'is not a header name';
  if (type !== 'string' && type !== 'integer' && type !== 'boolean') return 'is not on a string, integer or boolean';
  const header = `mcp-param-${name.toLowerCase()}`;
  if (found.some((other) => other.header === header)) return 'is repeated';
  found.push({ header, path, type });
  return undefined;
}

/** #server-behavior-for-custom-headers, for headers that the tool's schema names. Other headers are not checked. */
export function checkParamHeaders(
  spec: readonly ParamHeader[],
  args: unknown,
  header: (lowercaseName: string) => string | undefined,
): Failure | undefined {
  for (const param of spec) {
    const fault =
      confusable(args, param.path) ?? checkParam(param, valueAtPath(args, param.path), header(param.header));
    if (fault !== undefined) return mismatch(param.header, fault);
  }
  return undefined;
}

function checkParam(param: ParamHeader, value: unknown, header: string | undefined): string | undefined {
  const expected = textOf(value);
  if (header === undefined) return expected === undefined ? undefined : 'is missing';
  const decoded = decodeHeaderValue(header);
  if (decoded === undefined) return 'is not a valid header value';
  if (expected === undefined) return 'has no parameter in the body';
  // #server-validation: `42.0` and `42` are equal.
  const isEqual =
    param.type === 'integer' && typeof value === 'number' && DECIMAL.test(decoded)
      ? Number(decoded) === value
      : decoded === expected;
  return isEqual ? undefined : 'differs from the body';
}

/** The headers to send with a call, by the backend's own schema. */
export function paramHeaderValues(spec: readonly ParamHeader[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, path } of spec) {
    const fault = confusable(args, path);
    if (fault !== undefined) throw new Failure('ambiguous_json', { message: `${path.join('.')} ${fault}` });
    const text = textOf(valueAtPath(args, path));
    if (text !== undefined) headers[header] = encodeHeaderValue(text);
  }
  return headers;
}

/**
 * #value-encoding. Undefined if there is nothing to mirror: absent, null, or a value that cannot be mirrored (an
 * object, an integer beyond 2^53), which the tool itself must refuse.
 */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined;
  return String(value);
}

/** A backend that matches names case-insensitively would read a different value than the one in the header. */
function confusable(args: unknown, path: readonly string[]): string | undefined {
  let value = args;
  for (const key of path) {
    if (!isObject(value)) return undefined;
    if (hasOther(value, key)) return 'is mirrored in a header, and another argument differs from it only in case';
    value = own(value, key);
  }
  return undefined;
}

function valueAtPath(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) value = isObject(value) ? own(value, key) : undefined;
  return value;
}

function own(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
