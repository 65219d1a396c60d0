/**
 * Finds templates of different backends that the same URI may match. Such a URI would not identify its backend, so
 * these templates must name theirs.
 */
import { type Piece, readTemplate } from './templates.ts';

export interface OwnedTemplate {
  readonly backend: string;
  readonly template: string;
}

/** Pairs of states checked per merge: well under a tenth of a second. The rest counts as overlapping, which is safe. */
const BUDGET = 500_000;

/** One state of a template, as an automaton over characters. */
interface Step {
  /** The character that leads to the next state. Undefined: any character but `stop` leads back to this state. */
  readonly character: string | undefined;
  readonly stop: string;
  /** How many states can be skipped without a character. */
  readonly skip: 0 | 1 | 2;
}

interface TemplateCandidate extends OwnedTemplate {
  /** The literal text that every URI of the template begins with. */
  readonly prefix: string;
  /** Created on demand: the prefixes of most templates differ. */
  readonly steps: () => readonly Step[];
}

/** The templates that share a URI with a template of another backend. */
export function mayOverlap(templates: readonly OwnedTemplate[]): ReadonlySet<string> {
  const shared = new Set<string>();
  const owners = new Map<string, string>();
  for (const { backend, template } of templates) {
    const owner = owners.get(template);
    if (owner === undefined) owners.set(template, backend);
    else if (owner !== backend) shared.add(template);
  }
  // Sorted by prefix, so that all prefixes that begin with a given one follow it directly.
  const candidates = [...owners]
    .flatMap(([template, backend]) => candidateOf({ backend, template }))
    .sort((a, b) => (a.prefix < b.prefix ? -1 : a.prefix > b.prefix ? 1 : 0));
  let budget = BUDGET;
  candidates.forEach((first, at) => {
    for (let i = at + 1; i < candidates.length; i++) {
      const second = candidates[i] as TemplateCandidate;
      if (!second.prefix.startsWith(first.prefix)) break;
      if (first.backend === second.backend || (shared.has(first.template) && shared.has(second.template))) continue;
      if (budget > 0) {
        const [a, b] = [first.steps(), second.steps()];
        budget -= (a.length + 1) * (b.length + 1);
        if (budget > 0 && !haveCommon(a, b)) continue;
      }
      shared.add(first.template).add(second.template);
    }
  });
  return shared;
}

/** An invalid template matches nothing. */
function candidateOf(owned: OwnedTemplate): TemplateCandidate[] {
  const pieces = readTemplate(owned.template);
  if (pieces === undefined) return [];
  const [first] = pieces;
  const prefix = first !== undefined && 'literal' in first ? first.literal : '';
  let steps: readonly Step[] | undefined;
  return [
    {
      ...owned,
      prefix,
      steps: () => {
        steps ??= pieces.flatMap(stepsOf);
        return steps;
      },
    },
  ];
}

function stepsOf(piece: Piece): Step[] {
  if ('literal' in piece) return [...piece.literal].map((character) => ({ character, stop: '', skip: 0 }));
  const loop: Step = { character: undefined, stop: piece.stop, skip: 1 };
  return piece.lead === '' ? [loop] : [{ character: piece.lead, stop: '', skip: 2 }, loop];
}

/** Whether some text is accepted by both. Every pair of states is visited once. */
function haveCommon(first: readonly Step[], second: readonly Step[]): boolean {
  const width = second.length + 1;
  const seen = new Uint8Array((first.length + 1) * width);
  const open: number[] = [];
  const reach = (i: number, j: number): void => {
    const pair = i * width + j;
    if (seen[pair] === 1) return;
    seen[pair] = 1;
    open.push(pair);
  };
  reach(0, 0);
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const j = pair % width;
    const i = (pair - j) / width;
    const a = first[i];
    const b = second[j];
    if (a === undefined && b === undefined) return true;
    if (a !== undefined && a.skip > 0) reach(i + a.skip, j);
    if (b !== undefined && b.skip > 0) reach(i, j + b.skip);
    if (a === undefined || b === undefined) continue;
    if (a.character === undefined) {
      if (b.character !== undefined && b.character !== a.stop) reach(i, j + 1);
    } else if (b.character === undefined) {
      if (a.character !== b.stop) reach(i + 1, j);
    } else if (a.character === b.character) reach(i + 1, j + 1);
  }
  return false;
}
