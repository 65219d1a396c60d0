/**
 * Compares the tests of two commits, so that a change of the tests loses none: ids, and outcomes where both files have
 * them. Usage: npm run compare:tests -- before.json after.json [map.json] A file is what `vitest list --json=FILE` or
 * the reporter `json` writes. The map (tests/retitled.json) has the files and titles that were renamed on purpose, as
 * they stand in the source; any other difference is an error.
 */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';

interface Test {
  readonly file: string;
  readonly titles: readonly string[];
  readonly outcome: string | undefined;
}

type Listed = readonly { readonly name: string; readonly file: string }[];

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { ancestorTitles: readonly string[]; title: string; status: string }[];
  }[];
}

interface Renames {
  /** Old path to new path, below tests/. */
  readonly files: Readonly<Record<string, string>>;
  /**
   * By the old path: old title to new title. A file that is no test itself has titles for the tests in and below its
   * folder.
   */
  readonly titles: Titles;
  /** The same for texts that a table fills into titles. */
  readonly values: Titles;
}

type Titles = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface Rename {
  readonly key: string;
  readonly before: string;
  readonly after: string;
  readonly pattern: RegExp;
  readonly fill: (values: readonly string[]) => string;
}

const SEPARATOR = ' > ';
/** So many characters does vitest show of a value in a title. */
const SHOWN = 40;
/** What a template or a table fills in: `${expression}`, `$member` or `%s`. */
const filled = /\$\{(?:[^{}]|\{[^{}]*\})*\}|\$[a-zA-Z_][\w.]*|%[sdifjo]/g;

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

function testsIn(path: string): Test[] {
  const content = read(path) as Listed | Report;
  const below = (file: string): string => file.replace(/^.*\/tests\//, '');
  if ('testResults' in content)
    return content.testResults.flatMap(({ name, assertionResults }) =>
      assertionResults.map(({ ancestorTitles, title, status }) => ({
        file: below(name),
        titles: [...ancestorTitles, title].join(SEPARATOR).split(SEPARATOR),
        outcome: status,
      })),
    );
  return content.map(({ name, file }) => ({ file: below(file), titles: name.split(SEPARATOR), outcome: undefined }));
}

function renameOf(file: string, before: string, after: string): Rename {
  const places = [...before.matchAll(filled)].map(([text]) => text);
  const literal = before.split(filled).map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  const fill = (values: readonly string[]): string => {
    const left = places.map((place, i) => ({ place, value: values[i] ?? '' }));
    return after.replace(filled, (text) => {
      const at = left.findIndex(({ place }) => place === text);
      return at === -1 ? text : (left.splice(at, 1)[0]?.value ?? text);
    });
  };
  return { key: `${file}: ${before}`, before, after, pattern: new RegExp(`^${literal.join('(.*?)')}$`, 's'), fill };
}

/** The title with the most text comes first, so that a template never hides a title without places to fill. */
function renamesOf(titles: Titles): (file: string) => readonly Rename[] {
  const all = Object.entries(titles).map(([file, entries]) => ({
    file,
    renames: Object.entries(entries)
      .sort(([a], [b]) => b.split(filled).join('').length - a.split(filled).join('').length)
      .map(([before, after]) => renameOf(file, before, after)),
  }));
  const shared = all.filter(({ file }) => !file.endsWith('.test.ts'));
  return (test) => [
    ...all.filter(({ file }) => file === test).flatMap(({ renames }) => renames),
    ...shared.filter(({ file }) => test.startsWith(`${dirname(file)}/`)).flatMap(({ renames }) => renames),
  ];
}

/** A text as vitest fills it in for `$name`: in quotes, and cut. */
function quoted(text: string): string {
  return text.length + 2 > SHOWN ? `'${text.slice(0, SHOWN - 3)}…'` : `'${text}'`;
}

function idOf(test: Test, isCompared: boolean): string {
  return `${test.file}: ${test.titles.join(SEPARATOR)}${isCompared ? ` [${test.outcome}]` : ''}`;
}

function countsOf(ids: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

function missing(from: ReadonlyMap<string, number>, present: ReadonlyMap<string, number>): string[] {
  return [...from].flatMap(([id, count]) => Array<string>(Math.max(0, count - (present.get(id) ?? 0))).fill(id));
}

const [beforePath = '', afterPath = '', mapPath] = process.argv.slice(2);
const renames = (mapPath === undefined ? { files: {}, titles: {}, values: {} } : read(mapPath)) as Renames;
const listed = [testsIn(beforePath), testsIn(afterPath)];
const isCompared = listed.flat().every(({ outcome }) => outcome !== undefined);
// A list has no tests that are skipped.
const [before = [], after = []] = listed.map((tests) =>
  tests.filter(({ outcome }) => isCompared || outcome === undefined || outcome === 'passed' || outcome === 'failed'),
);
const titlesFor = renamesOf(renames.titles);
const valuesFor = renamesOf(renames.values);
const used = new Set<string>();

function retitled(file: string, title: string): string {
  const exact = titlesFor(file).find(({ before }) => before === title);
  const value = exact === undefined && valuesFor(file).find(({ before }) => title.includes(quoted(before)));
  const plain = exact === undefined && !value && valuesFor(file).find(({ before }) => title.includes(before));
  for (const rename of [value, plain]) if (rename) used.add(rename.key);
  const filledIn = value
    ? title.replace(quoted(value.before), () => quoted(value.after))
    : plain
      ? title.replace(plain.before, () => plain.after)
      : title;
  const rename = exact ?? titlesFor(file).find(({ pattern }) => pattern.test(filledIn));
  if (rename === undefined) return filledIn;
  used.add(rename.key);
  return rename.fill(rename.pattern.exec(filledIn)?.slice(1) ?? []);
}

const expected = before.map((test) => {
  const titles = test.titles.map((title) => retitled(test.file, title));
  return idOf({ ...test, file: renames.files[test.file] ?? test.file, titles }, isCompared);
});
const actual = after.map((test) => idOf(test, isCompared));
// A file whose tests are all skipped is in no list.
const isListed = (file: string): boolean => !file.endsWith('.test.ts') || before.some((test) => test.file === file);
const entries = [renames.titles, renames.values].flatMap((part) =>
  Object.entries(part)
    .filter(([file]) => isListed(file))
    .flatMap(([file, titles]) => Object.keys(titles).map((old) => `${file}: ${old}`)),
);
const problems = [
  ...missing(countsOf(expected), countsOf(actual)).map((id) => `- ${id}`),
  ...missing(countsOf(actual), countsOf(expected)).map((id) => `+ ${id}`),
  ...entries.filter((key) => !used.has(key)).map((key) => `? the map renames a title that no test has: ${key}`),
];
for (const problem of problems) console.error(problem);
console.log(
  `${before.length} tests before, ${after.length} after; ${entries.length} titles renamed, ${problems.length} differences.`,
);
if (problems.length > 0) process.exitCode = 1;
