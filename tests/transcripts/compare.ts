/** Two transcripts, line by line; what differs, with its exchange and a few lines around it. */
import { type Exchange, linesOf, type Transcript } from './transcript.ts';

interface Mask {
  readonly reason: string;
  readonly pattern: RegExp;
  readonly with: string;
}

/** What cannot be fixed in the gateway. Each has its reason. */
const masks: readonly Mask[] = [
  {
    reason: 'Node writes this header with a clock that a program cannot replace.',
    pattern: /^(< Date: )\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT(␍?)$/,
    with: '$1<date>$2',
  },
];

/** For `--without-texts`: builds between which only texts for people were changed, on purpose. */
const textMasks: readonly Mask[] = [
  { reason: 'Messages of errors, also inside of texts.', pattern: /(\\*")message\1:\1.*?[^\\]\1/g, with: '<message>' },
  { reason: 'Lines of the log.', pattern: /"msg":".*?[^\\]"/, with: '"msg":<text>' },
  { reason: 'Reasons in the log.', pattern: /"why":".*?[^\\]"/, with: '"why":<text>' },
  { reason: 'Challenges.', pattern: /error_description="[^"]*"/, with: 'error_description=<text>' },
  { reason: 'Lengths follow the texts.', pattern: /^(. content-length: )\d+/i, with: '$1<length>' },
];

/**
 * Ids of requests to backends, by the members that hold them. They come from one sequence for all backends, and two
 * backends that are asked at once draw from it in no defined order: they are numbered for each backend instead.
 */
const upstreamId = /"(id|requestId|progressToken|io\.modelcontextprotocol\/subscriptionId)":"([\w-]{16})"/g;

function numbered(line: string, numbers: Map<string, number>): string {
  return line.replace(upstreamId, (_, member: string, id: string) => {
    const number = numbers.get(id) ?? numbers.size + 1;
    numbers.set(id, number);
    return `"${member}":"<id ${number}>"`;
  });
}

export interface Difference {
  readonly exchange: string;
  readonly channel: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Lines in common before the first that differs. */
  readonly at: number;
}

/** A difference that is meant. */
export interface Expected {
  /** The commit that changed the bytes: expected where the first build is without it, and the second has it. */
  readonly commit: string;
  /** Why they are others. */
  readonly reason: string;
  readonly exchange: RegExp;
  readonly channel: RegExp;
  /** Some line of the old transcript, and some line of the new one, among those that differ. */
  readonly before: RegExp;
  readonly after: RegExp;
}

export interface Options {
  /** Texts for people are not compared, nor the start-up lines. */
  readonly withoutTexts?: boolean;
}

export function differences(before: Transcript, after: Transcript, options: Options = {}): Difference[] {
  const [older, newer] = [masked(before, options), masked(after, options)];
  const found: Difference[] = [];
  for (const name of new Set([...older.keys(), ...newer.keys()])) {
    const pair = [older.get(name), newer.get(name)] as const;
    for (const channel of new Set(pair.flatMap((channels) => [...(channels?.keys() ?? [])]))) {
      const [old = [], young = []] = pair.map((channels) => channels?.get(channel) ?? []);
      const at = old.findIndex((line, index) => line !== young[index]);
      if (at === -1 && old.length === young.length) continue;
      found.push({ exchange: name, channel, before: old, after: young, at: at === -1 ? old.length : at });
    }
  }
  return found;
}

/** Lines by exchange and channel. */
function masked({ exchanges }: Transcript, { withoutTexts = false }: Options): Map<string, Map<string, string[]>> {
  const numbers = new Map<string, Map<string, number>>();
  const linesIn = (exchange: Exchange, channel: string) => {
    const backend = /^backend \w+/.exec(channel)?.[0];
    const own = backend === undefined ? undefined : (numbers.get(backend) ?? new Map<string, number>());
    if (backend !== undefined && own !== undefined) numbers.set(backend, own);
    if (withoutTexts && channel === 'stdout') return [];
    const all = withoutTexts ? [...masks, ...textMasks] : masks;
    const lines = linesOf(exchange, channel).map((line) => {
      const plain = all.reduce((text, { pattern, with: mask }) => text.replace(pattern, mask), line);
      return own === undefined ? plain : numbered(plain, own);
    });
    // The log is sorted by its texts otherwise.
    return channel === 'log' ? lines.sort() : lines;
  };
  return new Map(
    exchanges.map((exchange) => [
      exchange.name,
      new Map([...exchange.channels.keys()].sort().map((channel) => [channel, linesIn(exchange, channel)])),
    ]),
  );
}

export function isExpected({ exchange, channel, ...lines }: Difference, expected: Expected): boolean {
  if (!expected.exchange.test(exchange) || !expected.channel.test(channel)) return false;
  const { removed, added } = changedLines(lines);
  return removed.some((line) => expected.before.test(line)) && added.some((line) => expected.after.test(line));
}

function changedLines({ before, after }: Pick<Difference, 'before' | 'after'>) {
  const removed = before.filter((line) => !after.includes(line));
  const added = after.filter((line) => !before.includes(line));
  return { removed: removed.length === 0 ? [''] : removed, added: added.length === 0 ? [''] : added };
}

const CONTEXT = 3;
const MOST_LINES = 12;
const MOST_CHARACTERS = 400;

/** For people: where it is, what was the same just before, then both sides. */
export function shown({ exchange, channel, before, after, at }: Difference): string {
  const cut = (lines: readonly string[], sign: string) => {
    let end = lines.length;
    const other = sign === '-' ? after : before;
    for (let same = 0; end > at && lines[end - 1] === other[other.length - 1 - same]; same += 1) end -= 1;
    return lines
      .slice(at, Math.min(Math.max(end, at), at + MOST_LINES))
      .map((line) => `  ${sign} ${aroundChange(line, before[at] ?? '', after[at] ?? '')}`);
  };
  return [
    `${exchange}  [${channel}], line ${at + 1}`,
    ...before.slice(Math.max(0, at - CONTEXT), at).map((line) => `    ${line.slice(0, MOST_CHARACTERS)}`),
    ...cut(before, '-'),
    ...cut(after, '+'),
  ].join('\n');
}

/** Of a long line the part where the two begin to differ. */
function aroundChange(line: string, one: string, other: string): string {
  if (line.length <= MOST_CHARACTERS) return line;
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const start = Math.max(0, same - MOST_CHARACTERS / 2);
  return `${start === 0 ? '' : '… '}${line.slice(start, start + MOST_CHARACTERS)}…`;
}
