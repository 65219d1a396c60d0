/**
 * All names of one target. An endpoint lists a backend's tool under its own name, prefixed with the backend's name, or
 * shortened; a resource under its own URI or as `bascule:<backend>/<uri>`. Which one depends on the other backends, so
 * a backend could rename another's entries. Therefore a deny rule applies to every name of a target, at every endpoint;
 * an allow rule only to the listed name, which is the one that its author can see.
 */
import { type Origin, SEPARATOR } from '../catalog/names.ts';
import { distinguished } from '../catalog/uris.ts';
import type { ThingKind } from './actions.ts';
import { readAddress } from './addresses.ts';

/** The name of a backend's entry at a merged endpoint, shortened if necessary. */
export type Encode = (origin: Origin) => string;

export const encodePlainly: Encode = ({ backend, name }) => `${backend}${SEPARATOR}${name}`;

/** Names, and readings of them, of the same target. */
export interface Spelled {
  readonly names: readonly string[];
  /** It is unclear what the name means: deny rules apply, allow rules do not. */
  readonly isAmbiguous: boolean;
}

interface Called {
  readonly kind: ThingKind | undefined;
  readonly name: string | undefined;
  readonly also: string | undefined;
  readonly own: string | undefined;
  readonly backend: string;
}

export function spelledAsListed({ kind, name = '', also }: Called): Spelled {
  const names = also === undefined ? [name] : [name, also];
  return kind === 'resource' ? read(names) : { names, isAmbiguous: false };
}

/** What all expansions of a template begin with. */
export function templateAsListed({ name = '', also }: Called): Spelled {
  const names = also === undefined ? [name] : [name, also];
  return read(names.map((template) => template.replace(/\{.*$/s, 'x')));
}

function read(names: readonly string[]): Spelled {
  const addresses = names.map(readAddress);
  return {
    names: addresses.flatMap(({ readings }) => readings),
    isAmbiguous: addresses.some(({ isAmbiguous }) => isAmbiguous),
  };
}

export function spelledInEveryWay(called: Called, encode: Encode): Spelled {
  const { kind, name = '', also, backend } = called;
  const own = called.own ?? name;
  const names = new Set([name, own]);
  if (also !== undefined) names.add(also);
  if (kind === 'resource') return addressed(names, own, backend);
  if (backend !== '' && kind === 'template') names.add(distinguished(backend, own));
  if (backend !== '' && (kind === 'tool' || kind === 'prompt')) {
    names.add(encodePlainly({ backend, name: own })).add(encode({ backend, name: own }));
  }
  return { names: [...names], isAmbiguous: false };
}

function addressed(uris: ReadonlySet<string>, own: string, backend: string): Spelled {
  const names = new Set<string>();
  let isAmbiguous = false;
  for (const uri of uris) {
    const address = readAddress(uri);
    isAmbiguous ||= address.isAmbiguous;
    for (const reading of [...address.readings, ...address.reductions]) {
      names.add(reading);
      if (uri === own && backend !== '') names.add(distinguished(backend, reading));
    }
  }
  return { names: [...names], isAmbiguous };
}
