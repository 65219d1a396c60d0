/** Formats a log event as a line: JSON for programs, text for a person at a terminal. */
import { pino } from 'pino';
import type { LogFacts, LogMethod } from './log.ts';

export type LineFormat = (level: LogMethod, facts: LogFacts, text: string) => string;

let written = '';
const logger = pino(
  { base: null, level: 'debug' },
  {
    write: (line: string) => {
      written = line;
    },
  },
);

/** Written synchronously, so one logger serves all. */
export function jsonLine(level: LogMethod, facts: LogFacts, text: string): string {
  logger[level](facts, text);
  return written;
}

const time = (now: Date): string => now.toISOString().slice(11, 19);

/** `12:34:56 warn  text  name=value`. Values with special characters are quoted, so that nobody can forge a line. */
export function textLine(now: () => Date): LineFormat {
  return (level, facts, text) => {
    const pairs = Object.entries(facts).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${shown(value)}`],
    );
    return `${[`${time(now())} ${level.padEnd(5)} ${printable(text)}`, ...pairs].join('  ')}\n`;
  };
}

function shown(value: unknown): string {
  if (typeof value === 'string') return /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value);
  return JSON.stringify(value) ?? String(value);
}

/**
 * Line breaks stay, as in the report of an invalid config. Control characters are replaced: they could command a
 * terminal.
 */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, '\ufffd');
}
