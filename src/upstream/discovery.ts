/** Reads `server/discover` and `initialize` results. Unknown members are kept. */
import { Failure } from '../errors/failure.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import { withDefined } from '../wire/declared-extensions.ts';
import type { ResultResponse } from '../wire/message.ts';
import { type Era, era, isRevision, newest, type Revision, revisions } from '../wire/revisions.ts';
import { offeredTasks } from '../wire/tasks.ts';
import { asBuffer, isObject, slice, valueAt } from '../wire/values.ts';
import { metaKeys } from '../wire/vocabulary.ts';

/** A `DiscoverResult`, recognised by its shape: a legacy server may answer an unknown method with anything. */
export interface DiscoverAnswer {
  readonly versions: readonly string[];
  /** Undefined where the backend has no modern revision that we support. */
  readonly discovery: Discovery | undefined;
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server/discover#response */
export function readDiscover(
  { bytes, result }: ResultResponse,
  spoken: readonly Revision[] = revisions,
): DiscoverAnswer | undefined {
  const value = valueAt(bytes, result);
  if (!isObject(value)) return undefined;
  const { supportedVersions, capabilities, instructions, resultType: _type, _meta, ...rest } = value;
  if (!Array.isArray(supportedVersions) || !isObject(capabilities)) return undefined;
  const versions = supportedVersions.filter((version) => typeof version === 'string');
  const known = versions.filter(isRevision).filter((version) => spoken.includes(version));
  const revision = newest(known, 'modern');
  if (revision === undefined) return { versions, discovery: undefined };
  const eras: Era[] = known.some((one) => era(one) === 'legacy') ? ['modern', 'legacy'] : ['modern'];
  const { [metaKeys.serverInfo]: serverInfo, ...meta } = isObject(_meta) ? _meta : {};
  return {
    versions,
    discovery: {
      eras,
      revision,
      capabilities,
      serverInfo: isObject(serverInfo) ? serverInfo : undefined,
      instructions: typeof instructions === 'string' ? instructions : undefined,
      rest: Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta },
    },
  };
}

/** https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization */
export function readInitialize({ bytes, result }: ResultResponse, spoken: readonly Revision[] = revisions): Discovery {
  const value = valueAt(bytes, result);
  const { protocolVersion, capabilities: given, serverInfo, instructions, ...rest } = isObject(value) ? value : {};
  const revision = legacyRevision(protocolVersion, spoken);
  const capabilities = isObject(given) ? withDefined(given, revision) : {};
  const coreTasks = offeredTasks([{ revision, capabilities }]);
  return {
    eras: ['legacy'],
    revision,
    capabilities,
    ...(coreTasks && { coreTasks }),
    serverInfo: isObject(serverInfo) ? serverInfo : undefined,
    instructions: typeof instructions === 'string' ? instructions : undefined,
    rest,
  };
}

/** Longer results are read each time. */
const KEPT_BYTES = 64 * 1024;

/**
 * The last `initialize` result of a backend, and what was read in it. A backend answers every client in the same way,
 * so all sessions share one discovery, and it is read once.
 */
export class LastInitialize {
  #result: Uint8Array | undefined;
  #discovery: Discovery | undefined;

  read(response: ResultResponse, spoken?: readonly Revision[]): Discovery {
    const result = slice(response.bytes, response.result);
    if (this.#discovery !== undefined && this.#result !== undefined && asBuffer(this.#result).equals(result))
      return this.#discovery;
    const discovery = readInitialize(response, spoken);
    if (result.byteLength > KEPT_BYTES) return discovery;
    this.#discovery = discovery;
    // A copy: a small result must not keep a large buffer.
    this.#result = new Uint8Array(result);
    return discovery;
  }
}

/** The backend may choose any legacy revision that its profile allows, not only the one we proposed. */
function legacyRevision(version: unknown, spoken: readonly Revision[]): Revision {
  if (!isRevision(version) || era(version) !== 'legacy') {
    throw new Failure('backend_invalid', {
      message: 'The backend negotiated a legacy revision that the gateway does not know',
    });
  }
  if (spoken.includes(version)) return version;
  const message = `The backend negotiated ${version}, which its profile does not allow`;
  throw new Failure('backend_invalid', { message });
}
