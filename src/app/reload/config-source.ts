/**
 * Where the config comes from: the file that was found first, and all files that it includes (`${file:...}`). The path
 * is fixed after the first load, so that a file that is missing for a moment is never read as "no config".
 */
import { statSync } from 'node:fs';
import { type Loaded, type LoadOptions, loadConfig } from '../../config/load.ts';

/** What a config was read from: the same files give the same config in every process of the gateway. */
export interface ConfigSnapshot {
  /** The file that was found, once it was. */
  readonly path: string | undefined;
  /** By path. Null: there is no such file. */
  readonly files: Readonly<Record<string, string | null>>;
}

export class ConfigSource {
  readonly #options: Omit<LoadOptions, 'generation'>;
  #files: ReadonlySet<string> = new Set();
  #path: string | undefined;
  #stampThen = '';
  #snapshot: ConfigSnapshot = { path: undefined, files: {} };

  constructor(options: Omit<LoadOptions, 'generation'>) {
    this.#options = options;
    this.#path = options.path;
  }

  /** Throws a ConfigError. */
  load(generation = 1): Loaded {
    const files = new Set<string>();
    const texts: Record<string, string | null> = {};
    const readFile = (path: string) => {
      files.add(path);
      const text = this.#options.readFile(path);
      texts[path] = text ?? null;
      return text;
    };
    this.#snapshot = { path: this.#path, files: texts };
    try {
      // Take the stamp before reading, so that a change during the read changes the stamp.
      this.#stampThen = this.stamp;
      const loaded = loadConfig({ ...this.#options, path: this.#path, readFile, generation });
      // The demo, and a backend from the command line, come from no file.
      if (this.#options.given === undefined && loaded.config.source !== 'demo') this.#path ??= loaded.config.source;
      return loaded;
    } finally {
      const isNew = [...files].some((file) => !this.#files.has(file)) || files.size !== this.#files.size;
      this.#files = files;
      if (isNew) this.#stampThen = this.stamp;
    }
  }

  /** Of the last load. */
  get snapshot(): ConfigSnapshot {
    return this.#snapshot;
  }

  /** Throws a ConfigError. Reads no file. */
  loadSnapshot({ path, files }: ConfigSnapshot, generation: number): Loaded {
    const readFile = (file: string) => files[file] ?? undefined;
    return loadConfig({ ...this.#options, path, readFile, generation });
  }

  /** Whether the files have changed since they were last read, even if that read failed. */
  get hasChanged(): boolean {
    return this.#path !== undefined && this.stamp !== this.#stampThen;
  }

  /** Differs after every change of the files, also where a file was replaced by a different one of the same name. */
  get stamp(): string {
    return [...this.#files].map(stampOf).join('\n');
  }
}

/** An unreadable file has a stamp, too: a timer calls this, and nothing would catch an exception. */
function stampOf(file: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(file);
    return `${ino} ${size} ${mtimeMs}`;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
}
