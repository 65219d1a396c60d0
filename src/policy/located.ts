/** Finds the backend that a name with a prefix stands for, where no list has been read. */
import { createNames, type Origin } from '../catalog/names.ts';
import { readDistinguished } from '../catalog/uris.ts';
import type { ThingKind } from './actions.ts';
import type { PolicyQuestion } from './question.ts';
import type { EndpointBackends } from './review.ts';

/** A name with its backend's prefix stands for what that backend has, as it does for clients. */
export function located(
  question: PolicyQuestion,
  places: EndpointBackends,
  digest: (text: string) => string,
): PolicyQuestion {
  const { thing, endpoint, backend } = question;
  const behind = places[endpoint] ?? [];
  if (thing?.name === undefined || behind.length < 2) return question;
  const origin = originOf(thing.kind, thing.name, behind, digest);
  if (origin === undefined || (backend !== '' && backend !== origin.backend)) return question;
  return { ...question, backend: origin.backend, thing: { ...thing, own: origin.name } };
}

function originOf(
  kind: ThingKind,
  name: string,
  behind: readonly string[],
  digest: (text: string) => string,
): Origin | undefined {
  if (kind === 'tool' || kind === 'prompt') return createNames(behind, digest).decode(name);
  const owned = kind === 'resource' ? readDistinguished(name, behind) : undefined;
  return owned && { backend: owned.backend, name: owned.uri };
}
