/** The names and patterns in one list of a rule, and the outcome of comparing a name with them. */
import { readAddress, withAsciiHost } from './addresses.ts';
import { compileGlob, type Glob, type GlobStyle } from './glob.ts';
import { BEGINNING, decodeOnce, isPlainPath, withoutDot, withPlainAuthority } from './paths.ts';

/**
 * The outcome of comparing a question with one part of a rule. `failed`: it could not be judged or is ambiguous; then a
 * deny rule applies and an allow rule does not. `maybe`: it depends on what the question leaves open.
 */
export type RuleOutcome = 'yes' | 'no' | 'failed' | 'maybe';

/** For several readings of one target: their common outcome, or `failed`. */
export function agreed(outcomes: readonly RuleOutcome[]): RuleOutcome {
  const [first = 'no'] = outcomes;
  return outcomes.every((outcome) => outcome === first) ? first : 'failed';
}

/** For a deny rule and several names of one target: one match is enough. */
export function strongest(outcomes: readonly RuleOutcome[]): RuleOutcome {
  return strength.find((outcome) => outcomes.includes(outcome)) ?? 'no';
}

const strength: readonly RuleOutcome[] = ['yes', 'failed', 'maybe'];

/** Steps for checking whether a text can be judged, and how it could be read. */
const SPELLING_STEPS = 4;
/** Replaces the first variable of a template: letters that no reader changes and that no address contains. */
const ANYTHING = 'anythingatallzqxj';

export class NameSet {
  readonly globs: readonly Glob[];
  readonly #exact: ReadonlySet<string>;
  readonly #open: readonly Glob[];
  readonly #isPath: boolean;
  /** Steps per character: one for reading it, and one for each position of a pattern that is followed. */
  readonly steps: number;

  constructor(patterns: readonly string[], style: GlobStyle) {
    this.#isPath = style === 'path';
    this.globs = patterns.flatMap((pattern) => {
      const glob = compileGlob(pattern, style);
      if (typeof glob === 'string') throw new TypeError(`Expected ${glob}`);
      return this.#isPath ? [glob, ...otherSpellings(pattern)] : glob;
    });
    this.#exact = new Set(this.globs.filter(({ form }) => form === 'exact').map(({ prefix }) => prefix));
    this.#open = this.globs.filter(({ form }) => form !== 'exact');
    this.steps = this.#open.reduce(
      (sum, { form, text }) => sum + (form === 'general' ? text.length : 1),
      SPELLING_STEPS,
    );
  }

  has(name: string): RuleOutcome {
    if (this.#isPath && !isPlainPath(name)) return this.#ofUnclear();
    if (this.#exact.has(this.#isPath ? withoutDot(name) : name)) return 'yes';
    let failed = false;
    for (const glob of this.#open) {
      const matches = glob.matches(name);
      if (matches === true) return 'yes';
      if (matches === undefined) failed = true;
    }
    return failed ? 'failed' : 'no';
  }

  /** It is unknown where the path leads; but `*` matches everything. */
  #ofUnclear(): RuleOutcome {
    if (this.globs.some(({ form }) => form === 'all')) return 'yes';
    return this.globs.length === 0 ? 'no' : 'failed';
  }

  /** For an allow rule and one name in several readings: all must agree. */
  hasAll(readings: readonly string[], isAmbiguous = false): RuleOutcome {
    if (isAmbiguous) return this.#ofUnclear();
    return readings.length === 1 ? this.has(readings[0]!) : agreed(readings.map((reading) => this.has(reading)));
  }

  /** For a deny rule and one target with several names: one is enough. */
  hasAny(spellings: readonly string[], isAmbiguous = false): RuleOutcome {
    let found: RuleOutcome = isAmbiguous ? this.#ofUnclear() : 'no';
    for (const spelling of spellings) {
      if (found === 'yes') return found;
      const outcome = this.has(spelling);
      if (outcome !== 'no') found = outcome;
    }
    return found;
  }

  /**
   * For all URIs that a template may expand to: `yes` if all of them match, `no` if none can. For a deny rule, what a
   * lenient reader may take its beginning for counts too.
   */
  hasTemplate(template: string, isDenied: boolean): RuleOutcome {
    const open = template.indexOf('{');
    if (open === -1) {
      const { readings, reductions, isAmbiguous } = readAddress(template);
      return isDenied ? this.hasAny([...readings, ...reductions], isAmbiguous) : this.hasAll(readings, isAmbiguous);
    }
    const beginning = template.slice(0, open);
    // What follows is part of the last segment.
    if (readAddress(`${beginning}x`).isAmbiguous) return this.#ofUnclear();
    const outcome = agreed(readAddress(beginning).readings.map((reading) => this.#hasAllThatBegin(reading)));
    if (!isDenied) return outcome;
    return strongest([
      outcome,
      ...readAddress(`${beginning}${ANYTHING}`).reductions.map((one) => this.#hasReduced(one)),
    ]);
  }

  /** If a reader removes the query, the variable may be gone. */
  #hasReduced(reduction: string): RuleOutcome {
    if (!reduction.includes(ANYTHING)) return this.has(reduction);
    return this.#hasAllThatBegin(reduction.slice(0, reduction.lastIndexOf(ANYTHING)));
  }

  #hasAllThatBegin(beginning: string): RuleOutcome {
    if (!isPlainPath(`${beginning}x`)) return this.#ofUnclear();
    let outcome: RuleOutcome = 'no';
    for (const { form, prefix } of this.globs) {
      if (form === 'all' || (form === 'prefix' && beginning.startsWith(prefix))) return 'yes';
      if (prefix.startsWith(beginning) || (form !== 'exact' && beginning.startsWith(prefix))) outcome = 'maybe';
    }
    return outcome;
  }
}

/** Further spellings of a pattern, so that it can equal the readings of a URI. */
function otherSpellings(pattern: string): readonly Glob[] {
  const beginning = BEGINNING.exec(pattern)?.[0] ?? '';
  // A plain path has no other spellings.
  if (beginning === '') return [];
  const folded = `${beginning.toLowerCase()}${pattern.slice(beginning.length)}`;
  const plain = withPlainAuthority(folded.replaceAll(/(?:%[0-9a-f]{2})+/gi, literally));
  const others = new Set([folded, plain, withAsciiHost(plain)]);
  others.delete(pattern);
  return [...others].map((other) => compileGlob(other, 'path')).filter((glob) => typeof glob !== 'string');
}

/** A percent-encoded character is meant literally, even if it is special in a pattern. */
function literally(encoded: string): string {
  return decodeOnce(encoded).replaceAll(/[*?\\]/g, '\\$&');
}
