/** The log: JSON lines on stderr, so that stdout stays free for the protocol. Secrets are never handed to it. */
import { destination, pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type Log = Readonly<Record<LogLevel, (facts: Readonly<Record<string, unknown>>, text: string) => void>>;

const STDERR = 2;

export function createLog(level: LogLevel): Log {
  const stderr = destination({ dest: STDERR, sync: true });
  // A log that nobody reads any more must not end what it is about.
  stderr.on('error', () => undefined);
  const logger = pino({ level, base: null }, stderr);
  return {
    debug: (facts, text) => logger.debug(facts, text),
    info: (facts, text) => logger.info(facts, text),
    warn: (facts, text) => logger.warn(facts, text),
    error: (facts, text) => logger.error(facts, text),
  };
}
