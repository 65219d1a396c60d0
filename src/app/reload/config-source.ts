/**
 * Where the config comes from: the file that was found first, and all that is read with it (`${file:...}`). It is the same
 * file each time, so that one that is missing for a moment is never taken for a wish to have no config.
 */
import { statSync } from 'node:fs';
import { type Loaded, type LoadOptions, loadConfig } from '../../config/load.ts';

export class ConfigSource {
  readonly #options: Omit<LoadOptions, 'generation'>;
  #files: ReadonlySet<string> = new Set();
  #path: string | undefined;
  #stampThen = '';

  constructor(options: Omit<LoadOptions, 'generation'>) {
    this.#options = options;
    this.#path = options.path;
  }

  /** Throws a ConfigError. */
  load(generation = 1): Loaded {
    const files = new Set<string>();
    const readFile = (path: string) => {
      files.add(path);
      return this.#options.readFile(path);
    };
    try {
      // Before anything is read: what changes meanwhile has another stamp afterwards.
      this.#stampThen = this.stamp;
      const loaded = loadConfig({ ...this.#options, path: this.#path, readFile, generation });
      if (loaded.config.source !== 'demo') this.#path ??= loaded.config.source;
      return loaded;
    } finally {
      const isNew = [...files].some((file) => !this.#files.has(file)) || files.size !== this.#files.size;
      this.#files = files;
      if (isNew) this.#stampThen = this.stamp;
    }
  }

  /** Whether the files are others than when they were last read, whatever came of it. */
  get hasChanged(): boolean {
    return this.#path !== undefined && this.stamp !== this.#stampThen;
  }

  /** Another after every change of the files, also where one took the place of another under its name. */
  get stamp(): string {
    return [...this.#files].map(stampOf).join('\n');
  }
}

/** What cannot be looked at has a stamp too: it is asked for by a timer, where nobody would catch anything. */
function stampOf(file: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(file);
    return `${ino} ${size} ${mtimeMs}`;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
}
