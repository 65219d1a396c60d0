/** Opening a conversation: `initialize` in the legacy era, `server/discover` in the modern one. */

import { degradeServer, olderCapabilities } from '../bridge/revision-compat.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import { about } from '../wire/about.ts';
import { readCapabilities } from '../wire/capabilities.ts';
import { withCarried } from '../wire/declared-extensions.ts';
import type { ExtensionChoices } from '../wire/extensions.ts';
import type { Request } from '../wire/message.ts';
import { era, isRevision, newest, type Profile, type Revision, withoutHeader } from '../wire/revisions.ts';
import { hasCoreTasks } from '../wire/tasks.ts';
import { asBuffer, isObject, member, slice, textMember, valueAt } from '../wire/values.ts';
import { checkSize, unsupported } from './admit.ts';

/** What an endpoint offers to all of its clients. It has a profile of its own. */
type Offering = Pick<Endpoint, 'profile' | 'extensions'>;

/** Kinds of clients that are remembered, for each profile. */
const KNOWN_CLIENTS = 64;
/** Longer parameters are read each time. */
const KNOWN_BYTES = 4 * 1024;
/**
 * What clients say of themselves, by the text of their parameters: clients of one kind all say the same, so it is read
 * once, and their sessions share it.
 */
const knownClients = new WeakMap<Profile, BoundedMap<ClientFacts>>();

export function readInitialize(request: Request, { profile, extensions }: Offering): ClientFacts {
  const { bytes, params } = request;
  if (params === undefined || params.end - params.start > KNOWN_BYTES) return readClient(request, profile, extensions);
  const text = asBuffer(slice(bytes, params)).toString('latin1');
  let known = knownClients.get(profile);
  if (known === undefined) {
    known = new BoundedMap(KNOWN_CLIENTS);
    knownClients.set(profile, known);
  }
  let client = known.get(text);
  if (client === undefined) {
    client = readClient(request, profile, extensions);
    known.set(text, client);
  }
  return client;
}

/**
 * Agrees on the requested revision if the profile has it, else on the profile's newest legacy one: the client decides
 * whether it accepts that.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation
 */
function readClient(request: Request, profile: Profile, extensions: Offering['extensions']): ClientFacts {
  const version = textMember(request.bytes, request.params, 'protocolVersion');
  if (version === undefined) throw new Failure('invalid_params', { message: 'protocolVersion is required' });
  const fallback = newest(profile.revisions, 'legacy');
  if (fallback === undefined) throw unsupported(profile, version);
  const known = isRevision(version) && era(version) === 'legacy' && profile.revisions.includes(version);
  const info = member(request.params, 'clientInfo');
  const capabilities = member(request.params, 'capabilities');
  if (info !== undefined) checkSize(info, 'clientInfo');
  if (capabilities !== undefined) checkSize(capabilities);
  const revision = known ? version : fallback;
  const declared = olderCapabilities(revision, capabilities && valueAt(request.bytes, capabilities));
  return {
    revision,
    // Text, not bytes: the session keeps it, and must not keep the whole request body alive.
    info: info && asBuffer(slice(request.bytes, info)).toString('utf8'),
    capabilities: readCapabilities(isObject(declared) ? withCarried(declared, revision, extensions) : {}),
  };
}

/**
 * A legacy client without a session: only its version header is known. Without that header no revision was agreed on,
 * so the profile does not matter.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header
 */
export function readStranger(version: string | undefined, profile: Profile): ClientFacts {
  if (newest(profile.revisions, 'legacy') === undefined) throw unsupported(profile, version ?? withoutHeader);
  const known = isRevision(version) && era(version) === 'legacy' && profile.revisions.includes(version);
  if (version !== undefined && !known) throw new Failure('unsupported_version_header');
  return { revision: known ? version : withoutHeader, info: undefined, capabilities: readCapabilities({}) };
}

interface WrittenResult {
  readonly revision: Revision;
  readonly extensions: ExtensionChoices | undefined;
  readonly bytes: Uint8Array;
}

/** The last result that was written from a discovery: most clients of a backend speak one revision. */
const written = new WeakMap<Discovery, WrittenResult>();

/** The `initialize` result. Sessions of one backend share its discovery, so it is written once for all of them. */
export function initializeResult(revision: Revision, { extensions }: Offering, discovery: Discovery): Uint8Array {
  const last = written.get(discovery);
  if (last?.revision === revision && last.extensions === extensions) return last.bytes;
  const bytes = Buffer.from(writeInitialize(revision, extensions, discovery));
  written.set(discovery, { revision, extensions, bytes });
  return bytes;
}

function writeInitialize(revision: Revision, extensions: Offering['extensions'], discovery: Discovery): string {
  const { serverInfo, instructions, rest } = discovery;
  const { ttlMs: _ttlMs, cacheScope: _cacheScope, resultType: _resultType, ...others } = rest;
  return JSON.stringify({
    protocolVersion: revision,
    capabilities: offered(discovery, revision, extensions),
    serverInfo: degradeServer(serverInfo ?? about, revision),
    instructions,
    ...others,
  });
}

export function discoverResult(revision: Revision, { profile, extensions }: Offering, discovery: Discovery): string {
  const { serverInfo, instructions, rest } = discovery;
  const { ttlMs = 0, cacheScope = 'private', _meta, ...others } = rest;
  return JSON.stringify({
    ...others,
    resultType: 'complete',
    supportedVersions: [...profile.revisions].reverse(),
    capabilities: offered(discovery, revision, extensions),
    instructions,
    ttlMs,
    cacheScope,
    _meta: {
      ...(_meta as object | undefined),
      ...(serverInfo && { 'io.modelcontextprotocol/serverInfo': serverInfo }),
    },
  });
}

/** Tasks of 2025-11-25 are offered in that revision alone. */
function offered(
  { capabilities: { tasks: _tasks, ...others }, coreTasks }: Discovery,
  revision: Revision,
  extensions: Offering['extensions'],
): Discovery['capabilities'] {
  const carried = withCarried(others, revision, extensions);
  return hasCoreTasks(revision) && coreTasks !== undefined ? { ...carried, tasks: coreTasks } : carried;
}
