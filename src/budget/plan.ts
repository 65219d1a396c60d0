/**
 * Which tools of a list are listed whole, and which as stubs. The budget is for the whole list: stubs and `find_tools`
 * count. Decided in the order of the backends in the config, and of names there, so every process decides alike.
 */
import type { ListedEntry, ListView } from '../catalog/view.ts';
import { isObject, valueAt } from '../wire/values.ts';
import { FIND_TOOLS, findToolsEntry } from './find-tools.ts';
import { stubOf } from './stub.ts';
import { estimateTokens } from './tokens.ts';

export interface Budget {
  /** Of the list together. Stubs are listed even where they need more. */
  readonly tokens: number;
}

/** Estimated tokens of a list as it is, and of whole entries alone. */
export interface ListCost {
  readonly tokens: number;
  readonly wholeTokens: number;
}

export interface BudgetPlan extends ListCost {
  /** As they are listed. */
  readonly places: readonly ListedEntry[];
  /** Listed names of the tools that are listed as stubs. */
  readonly stubs: ReadonlySet<string>;
}

interface Sized {
  readonly place: ListedEntry;
  readonly whole: number;
  readonly stub: Uint8Array;
  readonly short: number;
}

const finder: ListedEntry = {
  backend: '',
  name: FIND_TOOLS,
  clientName: FIND_TOOLS,
  bytes: Buffer.from(JSON.stringify(findToolsEntry)),
};
const finderTokens = tokensOf(finder.bytes);

/** By the part of a list that an audience may see, which stays the same object while the list does. */
const known = new WeakMap<ListView['places'], Map<string, BudgetPlan>>();

/** `finds`: whether the audience may use `find_tools`. */
export function planOf(places: ListView['places'], budget: Budget, finds: boolean): BudgetPlan {
  const plans = known.get(places) ?? new Map<string, BudgetPlan>();
  known.set(places, plans);
  const key = `${budget.tokens} ${finds}`;
  const existing = plans.get(key);
  if (existing !== undefined) return existing;
  const made = makePlan(places, budget, finds);
  plans.set(key, made);
  return made;
}

function makePlan(places: ListView['places'], { tokens: most }: Budget, finds: boolean): BudgetPlan {
  const sized = ordered(places).map(sizedOf);
  const wholeTokens = sum(sized, ({ whole }) => whole);
  if (wholeTokens <= most) {
    return { places: sized.map(({ place }) => place), stubs: new Set(), tokens: wholeTokens, wholeTokens };
  }
  const stubs = new Set<string>();
  let tokens = sum(sized, ({ short }) => short) + (finds ? finderTokens : 0);
  const listed = sized.map(({ place, whole, stub, short }) => {
    if (whole <= short || tokens + whole - short <= most) {
      tokens += whole - short;
      return place;
    }
    stubs.add(place.clientName);
    return { ...place, bytes: stub };
  });
  return { places: finds ? [finder, ...listed] : listed, stubs, tokens, wholeTokens };
}

function ordered(places: ListView['places']): readonly ListedEntry[] {
  const backends = [...new Set(places.map(({ backend }) => backend))];
  return backends.flatMap((backend) =>
    places.filter((place) => place.backend === backend).sort((a, b) => (a.clientName < b.clientName ? -1 : 1)),
  );
}

function sizedOf(place: ListedEntry): Sized {
  const entry = valueAt(place.bytes, { start: 0, end: place.bytes.byteLength });
  const whole = tokensOf(place.bytes);
  const stub = isObject(entry) ? Buffer.from(JSON.stringify(stubOf(entry))) : place.bytes;
  return { place, whole, stub, short: tokensOf(stub) };
}

/** Of an entry. */
export function tokensOf(bytes: Uint8Array): number {
  return estimateTokens(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
}

function sum(all: readonly Sized[], of: (one: Sized) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}
