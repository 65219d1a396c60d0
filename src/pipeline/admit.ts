/** The admit stage of each era: checks what a request says of itself, before anything looks at what it wants. */
import { Failure } from '../errors/failure.ts';
import type { HeaderReader } from '../exchange/arrival.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { ClientCapabilities } from '../wire/capabilities.ts';
import { logLevelAt } from '../wire/log-level.ts';
import type { Batch, Message, Request } from '../wire/message.ts';
import { metaKeys } from '../wire/meta.ts';
import { has, type MethodRow, methodRow } from '../wire/methods.ts';
import { checkMirrored } from '../wire/mirror.ts';
import { type Era, era, isRevision, type Profile, type Revision } from '../wire/revisions.ts';
import { member, slice, stringAt } from '../wire/values.ts';
import { checkSize, declaredAt } from './declared-capabilities.ts';
import { unsupported } from './handshake.ts';

/** The era of a message. What a request says of itself takes precedence over the header. */
export function eraOf(message: Message | Batch, versionHeader: string | undefined): Era {
  if (message.kind === 'request' && member(message.meta, metaKeys.protocolVersion) !== undefined) return 'modern';
  return isRevision(versionHeader) ? era(versionHeader) : 'legacy';
}

/** A modern request that may go on. */
export interface AdmittedModern {
  readonly row: MethodRow;
  readonly client: ClientFacts;
  readonly logLevel: string | undefined;
}

/**
 * Agreement of headers and body is checked before support: a mismatch is reported as one even for an unknown revision.
 * A request that does not name its revision has nothing that headers could agree with.
 */
export function admitModern(request: Request, header: HeaderReader | undefined, profile: Profile): AdmittedModern {
  const row = methodRow(request.method);
  const revision = metaString(request, 'protocolVersion');
  if (revision === undefined)
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
  if (!isRevision(revision) || era(revision) === 'legacy' || !profile.revisions.includes(revision))
    throw unsupported(profile, revision);
  const declared = capabilities && declaredAt(request.bytes, capabilities);
  if (declared === undefined) {
    throw new Failure('missing_meta', { message: `_meta must have ${metaKeys.clientCapabilities}` });
  }
  if (row === undefined || row.kind !== 'request' || row.from === 'server' || !has(revision, row))
    throw unknownMethod(request, 'modern');
  // In the modern era tasks are an extension, and the gateway does not offer it.
  if (row.capability === 'tasks')
    throw new Failure('method_removed', { message: 'Tasks are not supported', data: { method: request.method } });
  const logLevel = metaMember(request, 'logLevel');
  return {
    row,
    client: clientFacts(request, revision, declared),
    logLevel: logLevel && readLogLevel(request, logLevel),
  };
}

export function admitLegacy(request: Request, revision: Revision): MethodRow {
  const row = methodRow(request.method);
  if (row === undefined || row.kind !== 'request' || row.from === 'server' || !has(revision, row))
    throw unknownMethod(request, 'legacy');
  if (row.capability === 'tasks') throw new Failure('tasks_not_supported');
  return row;
}

/** An absent header means the negotiated revision. A header that is present must name exactly that one. */
export function checkVersionHeader(value: string | undefined, negotiated: Revision): void {
  if (value !== undefined && value !== negotiated) throw new Failure('unsupported_version_header');
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

function metaString(request: Request, name: keyof typeof metaKeys): string | undefined {
  const found = metaMember(request, name);
  return found && stringAt(request.bytes, found);
}
