/** The log: lines on stderr, so that stdout stays free for the protocol. Callers never pass secrets. */
import type { Counters } from './counters.ts';
import type { LineBuffer } from './line-buffer.ts';
import { type LineStream, LineWriter } from './line-writer.ts';

const levels = ['debug', 'info', 'warn', 'error'] as const;
export type LogMethod = (typeof levels)[number];

export type LogFacts = Readonly<Record<string, unknown>>;

export type Log = Readonly<Record<LogMethod, (facts: LogFacts, text: string) => void>>;

/** Names need no escapes in JSON. */
export type FrequentFacts = Readonly<Record<string, string | number | undefined>>;

export type FrequentLog = (facts: FrequentFacts, text: string) => void;

/** The log of the running program. It queues lines for their reader. */
export interface ProgramLog extends Log {
  /** A line at `info` of a kind that comes with every request: it may wait for others for a moment. */
  readonly frequent: FrequentLog;
  /** Call before the program ends: resolves when the last lines were written, or after a second. */
  flush(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogMethod;
  /** `auto`: text on a terminal, JSON everywhere else. */
  readonly format: 'auto' | 'json' | 'text';
  /** How much may wait for a reader that stalls. */
  readonly queueBytes: number;
  readonly counters: Counters;
  /** Which of several processes writes. Every line names it. */
  readonly worker?: number | undefined;
  /** Default: the process's stderr. */
  readonly stream?: LineStream & { readonly isTTY?: boolean };
}

/** A working reader reads the last lines in milliseconds; a stalled one must not keep the program from ending. */
const FLUSH_MS = 1_000;

export function createLog(options: LogOptions): ProgramLog {
  const { queueBytes, counters, stream = process.stderr } = options;
  const isText = options.format === 'text' || (options.format === 'auto' && stream.isTTY === true);
  const { worker } = options;
  const plainLine = (isText ? textLine : jsonLine)(() => new Date());
  const lineOf: LineFormat =
    worker === undefined ? plainLine : (level, facts, text) => plainLine(level, { worker, ...facts }, text);
  const addLine = isText ? undefined : jsonAdder(Date.now, worker);
  const writer = new LineWriter({
    stream,
    queueBytes,
    droppedLine: (dropped) =>
      lineOf('warn', { dropped }, `${dropped} log lines were dropped: the reader of stderr did not keep up`),
    onDropped: (count) => counters.count('log.dropped', count),
  });
  const lowest = levels.indexOf(options.level);
  const at = (level: LogMethod): Log[LogMethod] =>
    levels.indexOf(level) < lowest ? ignore : (facts, text) => writer.write(lineOf(level, facts, text));
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    frequent:
      levels.indexOf('info') < lowest
        ? ignore
        : (facts, text) =>
            writer.gather((lines) => {
              if (addLine === undefined) lines.add(lineOf('info', facts, text));
              else addLine(lines, facts, text);
            }),
    flush: () => writer.flush(FLUSH_MS),
  };
}

const ignore = (): void => undefined;

type LineFormat = (level: LogMethod, facts: LogFacts, text: string) => string;

/** `{"time":"2026-11-18T04:28:21.123Z","level":"info",...,"msg":"text"}`. */
export function jsonLine(now: () => Date): LineFormat {
  return (level, facts, text) => `${JSON.stringify({ time: now().toISOString(), level, ...facts, msg: text })}\n`;
}

/**
 * Adds the line that `jsonLine` makes at `info`, without making a string of it: with every request, that is the
 * difference between a small cost and a large one. Facts are texts and numbers, or absent.
 */
export function jsonAdder(
  now: () => number,
  worker?: number,
): (lines: LineBuffer, facts: FrequentFacts, text: string) => void {
  const afterTime = `Z","level":"info"${worker === undefined ? '' : `,"worker":${worker}`}`;
  let lastSecond = Number.NaN;
  /** The beginning of every line of that second, up to the point before the milliseconds. */
  let head = '';
  return (lines, facts, text) => {
    const ms = now();
    const second = Math.floor(ms / 1_000);
    if (second !== lastSecond) {
      lastSecond = second;
      head = `{"time":"${new Date(second * 1_000).toISOString().slice(0, -'000Z'.length)}`;
    }
    lines.add(head);
    lines.addDigits(ms - second * 1_000, 3);
    lines.add(afterTime);
    for (const name in facts) {
      const value = facts[name];
      if (value === undefined) continue;
      lines.addKey(name);
      if (typeof value === 'string') lines.addString(value);
      else lines.addNumber(value);
    }
    lines.add(',"msg":');
    lines.addString(text);
    lines.add('}\n');
  };
}

const time = (now: Date): string => now.toISOString().slice(11, 19);

/** `12:34:56 warn  text  name=value`. Values with special characters are quoted, so that no value can forge a line. */
export function textLine(now: () => Date): LineFormat {
  return (level, facts, text) => {
    const pairs = Object.entries(facts).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${shown(value)}`],
    );
    return `${[`${time(now())} ${level.padEnd(5)} ${printable(text)}`, ...pairs].join('  ')}\n`;
  };
}

function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:@+-]+$/.test(value)) return value;
  // JSON escapes only the first 32 control characters.
  return printable(JSON.stringify(value) ?? String(value));
}

/**
 * Line breaks stay, as in the report of an invalid config. Control characters are replaced: they could command a
 * terminal.
 */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '\ufffd');
}
