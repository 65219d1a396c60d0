/** A client's capabilities, and which server requests they allow. */
import { withDefined } from './declared-extensions.ts';
import type { Revision } from './revisions.ts';
import { isObject } from './values.ts';

export interface ClientCapabilities {
  readonly elicitation: { readonly form: boolean; readonly url: boolean } | undefined;
  readonly sampling: { readonly tools: boolean; readonly context: boolean } | undefined;
  readonly roots: boolean;
  /** As declared, including unknown capabilities. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** A server request, reduced to what its required capabilities depend on. */
export interface CapabilityDemand {
  readonly method: string;
  readonly params: unknown;
}

/** A capability is declared by an object. Any other value declares nothing. */
function declared(object: Record<string, unknown>, key: string): Record<string, unknown> | undefined {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return isObject(value) ? value : undefined;
}

export function readCapabilities(raw: unknown): ClientCapabilities {
  const object = isObject(raw) ? raw : {};
  const elicitation = declared(object, 'elicitation');
  const sampling = declared(object, 'sampling');
  return {
    elicitation: elicitation && elicitationModes(elicitation),
    sampling: sampling && {
      tools: declared(sampling, 'tools') !== undefined,
      context: declared(sampling, 'context') !== undefined,
    },
    roots: declared(object, 'roots') !== undefined,
    raw: object,
  };
}

/** Without a mode, only forms are supported: `elicitation: {}` is older than the modes. */
function elicitationModes(elicitation: Record<string, unknown>): { form: boolean; url: boolean } {
  const url = declared(elicitation, 'url') !== undefined;
  return { form: declared(elicitation, 'form') !== undefined || !url, url };
}

/**
 * The capabilities that we declare to a backend on a client's behalf. Tasks of 2025-11-25 are left out: they are not
 * carried end to end. `roots.listChanged` is left out, because the gateway does not pass root changes on.
 */
export function forUpstream(raw: Readonly<Record<string, unknown>>, revision: Revision): Record<string, unknown> {
  const { tasks: _tasks, ...rest } = raw;
  const kept: Record<string, unknown> = withDefined(rest, revision);
  const roots = declared(kept, 'roots');
  if (roots !== undefined) {
    const { listChanged: _listChanged, ...others } = roots;
    kept.roots = others;
  }
  return kept;
}

/** Whether the client accepts any server request. */
export function mayBeAsked({ elicitation, sampling, roots }: ClientCapabilities): boolean {
  return elicitation !== undefined || sampling !== undefined || roots;
}

/** The `requiredCapabilities` that a server request needs and the client lacks; undefined if it may be sent. */
export function missingFor(
  ask: CapabilityDemand,
  capabilities: ClientCapabilities,
): Record<string, unknown> | undefined {
  const params = isObject(ask.params) ? ask.params : {};
  switch (ask.method) {
    case 'elicitation/create': {
      // Without `mode`, the elicitation is a form: `mode` is younger than elicitation.
      const mode = params.mode === 'url' ? 'url' : 'form';
      return capabilities.elicitation?.[mode] === true ? undefined : { elicitation: { [mode]: {} } };
    }
    case 'sampling/createMessage': {
      const wantsTools = params.tools !== undefined || params.toolChoice !== undefined;
      if (wantsTools) return capabilities.sampling?.tools === true ? undefined : { sampling: { tools: {} } };
      return capabilities.sampling === undefined ? { sampling: {} } : undefined;
    }
    case 'roots/list':
      return capabilities.roots ? undefined : { roots: {} };
    default:
      return undefined;
  }
}
