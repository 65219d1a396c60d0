/** Writes recorded requests to a file that is rotated by size. It never delays a request: what does not fit is lost. */
import { RotatingFile } from './audit-sinks.ts';

/** Some thousands of requests wait while the disk is slow. */
const WAITING_CHARACTERS = 1024 * 1024;

export interface RecordingFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly keep: number;
  readonly lost: () => void;
}

export class RecordingFile {
  readonly #file: RotatingFile;
  readonly #lost: () => void;
  #waiting = '';
  #writing: Promise<void> | undefined;

  constructor({ path, maxBytes, keep, lost }: RecordingFileOptions) {
    this.#file = new RotatingFile(path, maxBytes, keep);
    this.#lost = lost;
  }

  write(record: object): void {
    const line = `${JSON.stringify(record)}\n`;
    if (this.#waiting.length + line.length > WAITING_CHARACTERS) {
      this.#lost();
      return;
    }
    this.#waiting += line;
    this.#writing ??= this.#writeAll();
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    while (this.#waiting !== '') {
      const lines = this.#waiting;
      this.#waiting = '';
      await this.#file.write(lines).catch(() => this.#lost());
    }
    this.#writing = undefined;
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }
}
