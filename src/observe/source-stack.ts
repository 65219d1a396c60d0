/**
 * Stack traces that name the source files and not the bundle. Maps are read when the first unexpected exception is
 * logged: `--enable-source-maps` would map the stack of every aborted socket, and keep the maps in memory from the
 * start.
 */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

const frame = /\(?(file:\/\/[^\s()]+\.js):(\d+):(\d+)\)?/g;
const maps = new Map<string, SourceMap | undefined>();
/** More files than we are bundled into. */
const MOST_MAPS = 64;

/** Of what is no error, the text. */
export function sourceStack(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const lines = (error.stack ?? error.message).split('\n');
  // The message stands before the frames, and may be anybody's.
  return lines.map((line) => (/^ {4}at .{1,400}$/.test(line) ? line.replace(frame, mapped) : line)).join('\n');
}

function mapped(place: string, url: string, line: string, column: string): string {
  const entry = mapOf(url)?.findEntry(Number(line) - 1, Number(column) - 1);
  if (entry === undefined || !('originalSource' in entry)) return place;
  return `(${entry.originalSource.replace(/^(?:\.\.\/)+/, '')}:${entry.originalLine + 1}:${entry.originalColumn + 1})`;
}

function mapOf(url: string): SourceMap | undefined {
  if (!maps.has(url) && maps.size < MOST_MAPS) maps.set(url, readMap(url));
  return maps.get(url);
}

/** A stack trace must not fail because of its map: tests run the sources, and a map may be missing. */
function readMap(url: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')));
  } catch {
    return undefined;
  }
}
