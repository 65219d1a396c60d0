/** The admit stage of each era: checks what a request says of itself, before anything looks at what it wants. */
import { Failure } from '../errors/failure.ts';
import type { ClientFacts } from '../exchange/call.ts';
import { nowhere } from '../session/downstream.ts';
import type { Session } from '../session/session.ts';
import { type ClientCapabilities, readCapabilities } from '../wire/capabilities.ts';
import { withCarried } from '../wire/declared-extensions.ts';
import { type ExtensionChoices, isCarried } from '../wire/extensions.ts';
import { logLevelAt } from '../wire/log-level.ts';
import type { Batch, Message, Request, Span } from '../wire/message.ts';
import { has, methodRow } from '../wire/methods.ts';
import { checkMirrored } from '../wire/mirror.ts';
import { type Era, knownRevisions, type Profile, type Revision } from '../wire/revisions.ts';
import { isObject, member, slice, textAt, textMember, valueAt } from '../wire/values.ts';
import { metaKeys } from '../wire/vocabulary.ts';
import type { RequestContext } from './context.ts';

/** The era of a message. What a request says of itself takes precedence over the header. */
export function eraOf(message: Message | Batch, versionHeader: string | undefined): Era {
  if (message.kind === 'request' && member(message.meta, metaKeys.protocolVersion) !== undefined) return 'modern';
  return knownRevisions.get(versionHeader)?.era ?? 'legacy';
}

/**
 * Agreement of headers and body is checked before support: a mismatch is reported as one even for an unknown revision.
 * A request that does not name its revision has nothing that headers could agree with.
 */
export function admitModern(context: RequestContext, request: Request): void {
  const { header, endpoint } = context;
  const { profile, extensions } = endpoint;
  const row = methodRow(request.method);
  const named = textMember(request.bytes, request.meta, metaKeys.protocolVersion);
  if (named === undefined)
    throw new Failure('missing_meta', { message: `_meta must have ${metaKeys.protocolVersion}` });
  if (header !== undefined) {
    const mismatch = checkMirrored(request, row, {
      version: header('mcp-protocol-version'),
      method: header('mcp-method'),
      name: header('mcp-name'),
    });
    if (mismatch !== undefined) throw mismatch;
  }
  const capabilities = metaMember(request, 'clientCapabilities');
  const known = knownRevisions.get(named);
  if (known?.era !== 'modern' || !profile.revisions.includes(known.revision)) throw unsupported(profile, named);
  const { revision } = known;
  const declared = capabilities && declaredAt(request.bytes, capabilities, revision, extensions);
  if (declared === undefined) {
    throw new Failure('missing_meta', { message: `_meta must have ${metaKeys.clientCapabilities}` });
  }
  if (row === undefined || row.kind !== 'request' || row.from === 'server' || !has(revision, row))
    throw unknownMethod(request, 'modern');
  if (row.extension !== undefined && !isCarried(row.extension, revision, extensions))
    throw unknownMethod(request, 'modern');
  const logLevel = metaMember(request, 'logLevel');
  context.request = request;
  context.row = row;
  context.client = clientFacts(request, revision, declared);
  context.logLevel = logLevel && readLogLevel(request, logLevel);
}

export function admitLegacy(context: RequestContext, { client, downstream }: Session): void {
  const { request } = context;
  const { revision } = client;
  const row = methodRow(request.method);
  if (row === undefined || row.kind !== 'request' || row.from === 'server' || !has(revision, row))
    throw unknownMethod(request, 'legacy');
  const { extension, capability } = row;
  if (
    extension !== undefined &&
    capability === undefined &&
    !isCarried(extension, revision, context.endpoint.extensions)
  )
    throw unknownMethod(request, 'legacy');
  // It would have to be our own record: what a backend lists may belong to other principals.
  if (row.method === 'tasks/list') throw new Failure('tasks_not_supported');
  // Without a session there is no stream on which updates could be sent.
  if (row.action === 'subscribe' && downstream === nowhere) throw new Failure('session_required');
  context.row = row;
  context.client = client;
}

/** An absent header means the negotiated revision. A header that is present must name exactly that one. */
export function checkVersionHeader(value: string | undefined, negotiated: Revision): void {
  if (value !== undefined && value !== negotiated) throw new Failure('unsupported_version_header');
}

export function unsupported(profile: Profile, requested: string): Failure {
  return new Failure('unsupported_version', { data: { supported: [...profile.revisions].reverse(), requested } });
}

export function unknownMethod(request: Request, of: Era): Failure {
  return new Failure(of === 'modern' ? 'method_removed' : 'method_not_found', { data: { method: request.method } });
}

function clientFacts(request: Request, revision: Revision, capabilities: ClientCapabilities): ClientFacts {
  const info = metaMember(request, 'clientInfo');
  if (info !== undefined) checkSize(info, 'clientInfo');
  return { revision, info: info && slice(request.bytes, info), capabilities };
}

function readLogLevel(request: Request, span: { start: number; end: number }): string {
  const level = logLevelAt(request.bytes, span);
  if (level === undefined) throw new Failure('invalid_params', { message: 'Unknown log level' });
  return level;
}

function metaMember(request: Request, name: keyof typeof metaKeys) {
  return member(request.meta, metaKeys[name]);
}

/**
 * Sessions and pending calls keep a declaration for as long as the client may come back. Real ones have some hundred
 * bytes.
 */
const BYTES = 64 * 1024;
/** How many declarations are kept. A client has one, and all clients of a kind have the same. */
const KEPT = 64;
/** Longer declarations are parsed each time. */
const KEPT_LENGTH = 2_048;

type Declarations = Map<string, ClientCapabilities>;

/** By text: equal declarations mean the same at equal endpoints, whichever client makes them. */
const usual: Declarations = new Map();
const chosen = new WeakMap<ExtensionChoices, Declarations>();

function knownAt(choices: ExtensionChoices): Declarations {
  const existing = chosen.get(choices);
  if (existing !== undefined) return existing;
  const made: Declarations = new Map();
  chosen.set(choices, made);
  return made;
}

export function checkSize({ start, end }: Span, what: 'capabilities' | 'clientInfo' = 'capabilities'): void {
  if (end - start > BYTES) throw new Failure('invalid_params', { message: `${what} may have at most ${BYTES} bytes` });
}

/**
 * The capabilities that a modern client declares in every request, parsed once for as long as they stay the same.
 * Undefined where the declaration is no object.
 */
function declaredAt(
  bytes: Uint8Array,
  span: Span,
  revision: Revision,
  choices: ExtensionChoices | undefined,
): ClientCapabilities | undefined {
  checkSize(span);
  const text = textAt(bytes, span);
  const known = choices === undefined ? usual : knownAt(choices);
  const kept = known.get(text);
  if (kept !== undefined) return kept;
  const value = valueAt(bytes, span);
  if (!isObject(value)) return undefined;
  const read = readCapabilities(withCarried(value, revision, choices));
  if (text.length > KEPT_LENGTH) return read;
  if (known.size >= KEPT) known.clear();
  known.set(text, read);
  return read;
}
