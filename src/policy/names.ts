/** The names of one list of a rule, and the readings of one name. */
import { compileGlob, type Glob, type GlobStyle } from './glob.ts';
import { agreed, type Outcome } from './outcome.ts';

export class NameSet {
  readonly globs: readonly Glob[];
  readonly #exact: ReadonlySet<string>;
  readonly #open: readonly Glob[];

  constructor(patterns: readonly string[], style: GlobStyle) {
    this.globs = patterns.map((pattern) => {
      const glob = compileGlob(pattern, style);
      if (typeof glob === 'string') throw new TypeError(`Expected ${glob}`);
      return glob;
    });
    this.#exact = new Set(this.globs.filter(({ form }) => form === 'exact').map(({ prefix }) => prefix));
    this.#open = this.globs.filter(({ form }) => form !== 'exact');
  }

  has(name: string): Outcome {
    if (this.#exact.has(name)) return 'yes';
    let failed = false;
    for (const glob of this.#open) {
      const matches = glob.matches(name);
      if (matches === true) return 'yes';
      if (matches === undefined) failed = true;
    }
    return failed ? 'failed' : 'no';
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
    let outcome: Outcome = 'no';
    for (const { form, prefix } of this.globs) {
      if (form === 'all' || (form === 'prefix' && beginning.startsWith(prefix))) return 'yes';
      if (prefix.startsWith(beginning) || (form !== 'exact' && beginning.startsWith(prefix))) outcome = 'maybe';
    }
    return outcome;
  }
}

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/[^/?#]*)?/;

/**
 * A URI as it is spelled, and as those understand it who fold the case of scheme and host and decode percent signs (RFC
 * 3986, 6.2.2). Rules that allow must hold for both, rules that deny for one.
 */
export function readingsOf(uri: string): readonly string[] {
  const folded = uri.replace(SCHEME, (beginning) => beginning.toLowerCase());
  const decoded = folded.includes('%') ? decode(folded) : folded;
  return decoded === uri ? [uri] : [uri, decoded];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // No UTF-8: at least what is plain ASCII.
    return text.replaceAll(/%([0-7][0-9a-f])/gi, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
  }
}
