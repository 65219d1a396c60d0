/**
 * The extensions with which lists are read: backends show some entries only to clients that declare them. Lists that
 * were read with different extensions are kept apart.
 */
import type { ClientFacts } from '../exchange/call.ts';
import { ourselves } from '../exchange/own-call.ts';
import { canonical } from '../wire/canonical.ts';
import { readCapabilities } from '../wire/capabilities.ts';
import { listExtensions } from '../wire/declared-extensions.ts';

export interface ListDeclaration {
  /** Equal for clients that get the same lists. Empty: no extensions. */
  readonly key: string;
  /** The client that backends are told of. It declares these extensions and nothing else. */
  readonly client: ClientFacts;
}

const nothingDeclared: ListDeclaration = { key: '', client: ourselves };
/** By declared capabilities: a client declares them once and reads often. */
const known = new WeakMap<object, ListDeclaration>();

export function listDeclaration({ capabilities: { raw } }: ClientFacts): ListDeclaration {
  if (raw.extensions === undefined) return nothingDeclared;
  const existing = known.get(raw);
  if (existing !== undefined) return existing;
  const extensions = listExtensions(raw);
  const made =
    Object.keys(extensions).length === 0
      ? nothingDeclared
      : { key: canonical(extensions), client: { ...ourselves, capabilities: readCapabilities({ extensions }) } };
  known.set(raw, made);
  return made;
}
