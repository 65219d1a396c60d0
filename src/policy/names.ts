/** The names of one list of a rule. */
import { compileGlob, type Glob, type GlobStyle } from './glob.ts';
import { agreed, type Outcome } from './outcome.ts';
import { isPlainPath, readingsOf, withoutDot, withPlainAuthority } from './paths.ts';

/** To find out whether a text can be judged, and how it could be read. */
const SPELLING_STEPS = 4;

export class NameSet {
  readonly globs: readonly Glob[];
  readonly #exact: ReadonlySet<string>;
  readonly #open: readonly Glob[];
  readonly #isPath: boolean;
  /** What a character costs: once for what it is, and once for each place of a pattern that is followed. */
  readonly steps: number;

  constructor(patterns: readonly string[], style: GlobStyle) {
    this.#isPath = style === 'path';
    const spelled = this.#isPath ? patterns.flatMap(inEverySpelling) : patterns;
    this.globs = spelled.map((pattern) => {
      const glob = compileGlob(pattern, style);
      if (typeof glob === 'string') throw new TypeError(`Expected ${glob}`);
      return glob;
    });
    this.#exact = new Set(this.globs.filter(({ form }) => form === 'exact').map(({ prefix }) => prefix));
    this.#open = this.globs.filter(({ form }) => form !== 'exact');
    this.steps = this.#open.reduce(
      (sum, { form, text }) => sum + (form === 'general' ? text.length : 1),
      SPELLING_STEPS,
    );
  }

  has(name: string): Outcome {
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

  /** Nobody can say where it leads; but everything is everything. */
  #ofUnclear(): Outcome {
    if (this.globs.some(({ form }) => form === 'all')) return 'yes';
    return this.globs.length === 0 ? 'no' : 'failed';
  }

  /** One name in several readings. */
  hasAll(readings: readonly string[]): Outcome {
    return readings.length === 1 ? this.has(readings[0]!) : agreed(readings.map((reading) => this.has(reading)));
  }

  /** All the URIs that may come out of a template: `yes` where none could be outside, `no` where none could be inside. */
  hasTemplate(template: string): Outcome {
    const open = template.indexOf('{');
    if (open === -1) return this.hasAll(readingsOf(template));
    return agreed(readingsOf(template.slice(0, open)).map((beginning) => this.#hasAllThatBegin(beginning)));
  }

  #hasAllThatBegin(beginning: string): Outcome {
    // Whatever comes next is part of the last segment.
    if (!isPlainPath(`${beginning}x`)) return this.#ofUnclear();
    let outcome: Outcome = 'no';
    for (const { form, prefix } of this.globs) {
      if (form === 'all' || (form === 'prefix' && beginning.startsWith(prefix))) return 'yes';
      if (prefix.startsWith(beginning) || (form !== 'exact' && beginning.startsWith(prefix))) outcome = 'maybe';
    }
    return outcome;
  }
}

/** So that what its author wrote and what is read out of a URI can be the same. */
function inEverySpelling(pattern: string): readonly string[] {
  const plain = withPlainAuthority(pattern);
  return plain === pattern ? [pattern] : [pattern, plain];
}
