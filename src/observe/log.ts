/** The log: JSON lines on stderr, so that stdout stays free for the protocol. Secrets are never handed to it. */
import { pino } from 'pino';
import type { Counters } from './counters.ts';
import { type LineStream, LineWriter } from './line-writer.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type Log = Readonly<Record<LogLevel, (facts: Readonly<Record<string, unknown>>, text: string) => void>>;

/** The log of the running program, whose lines wait for their reader. */
export interface ProgramLog extends Log {
  /** Before the program ends: resolves when the last lines were taken, or after a second. */
  flush(): Promise<void>;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** What may wait for a reader that stalls. */
  readonly queueBytes: number;
  readonly counters: Counters;
  /** Default: stderr of this process. */
  readonly stream?: LineStream;
}

/** A reader that works takes the last lines in milliseconds; one that stalls must not keep the program from ending. */
const FLUSH_MS = 1_000;

export function createLog({ level, queueBytes, counters, stream = process.stderr }: LogOptions): ProgramLog {
  const droppedLine = (dropped: number): string => {
    let line = '';
    const write = (text: string) => {
      line = text;
    };
    const text = `${dropped} log lines were dropped: the reader of stderr did not keep up`;
    pino({ base: null }, { write }).warn({ dropped }, text);
    return line;
  };
  const onDropped = (count: number) => counters.count('log.dropped', count);
  const writer = new LineWriter({ stream, queueBytes, droppedLine, onDropped });
  const logger = pino({ level, base: null }, { write: (line: string) => writer.write(line) });
  return {
    debug: (facts, text) => logger.debug(facts, text),
    info: (facts, text) => logger.info(facts, text),
    warn: (facts, text) => logger.warn(facts, text),
    error: (facts, text) => logger.error(facts, text),
    flush: () => writer.flush(FLUSH_MS),
  };
}
