/** A file that is read again whenever it changes. If the new content is invalid, the old content holds. */
import type { WallClock, Warn } from '../observe/ports.ts';
import { ListFileError } from './list-file.ts';

export interface FilePort {
  /** Changes whenever the file does; undefined if there is no file. */
  stamp(): string | undefined;
  read(): string;
}

export interface FileWatch {
  readonly file: FilePort;
  readonly time: WallClock;
  readonly warn: Warn;
}

export interface FileContent {
  readonly pollMs: number;
  /** Called with undefined if there is no file any more. Throws a `ListFileError` if the content is invalid. */
  readonly take: (text: string | undefined) => void;
  /** What the log says. */
  readonly missing: string;
  readonly gone: string;
  readonly unreadable: string;
}

export class WatchedFile {
  readonly #watch: FileWatch;
  readonly #content: FileContent;
  /** The stamp of the last content that was read, valid or not: the same problem is reported once. */
  #stamp: string | undefined;
  #told: string | undefined;
  #stop: (() => void) | undefined;

  /** Reads the file. A missing file is not an error: its first entry may be added later. */
  constructor(watch: FileWatch, content: FileContent) {
    this.#watch = watch;
    this.#content = content;
    this.reload();
    if (this.#stamp === undefined) watch.warn(content.missing, {});
  }

  /** Polls the file until `close`. */
  watch(): void {
    this.close();
    this.#stop = this.#watch.time.after(this.#content.pollMs, () => {
      this.reload();
      this.watch();
    });
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  reload(): void {
    const { file, warn } = this.#watch;
    const { take, gone } = this.#content;
    try {
      // Taken before the text is read: a change in between is noticed at the next poll.
      const stamp = file.stamp();
      if (stamp === this.#stamp) return;
      const text = stamp === undefined ? undefined : file.read();
      this.#stamp = stamp;
      this.#told = undefined;
      take(text);
      // Changes replace the file atomically, so a missing file was really removed.
      if (text === undefined) warn(gone, {});
    } catch (error) {
      this.#tell(error);
    }
  }

  #tell(error: unknown): void {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    // Of any other error only the code is logged: the message may contain too much.
    const why = error instanceof ListFileError ? error.message : code;
    if (why === this.#told) return;
    this.#told = why;
    this.#watch.warn(this.#content.unreadable, { why });
  }
}
