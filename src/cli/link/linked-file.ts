/** A client's file on disk: it is replaced in one step, with its rights, and a copy from before is kept beside it. */
import { isUtf8 } from 'node:buffer';
import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { replaceFile } from '../../app/key-files.ts';
import { UnsafeFileError } from '../../app/trusted-file.ts';
import { ListFileError } from '../../identity/list-file.ts';
import { LinkError } from './entry-file.ts';

/** Clients keep histories in some of these files, but no more than this. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Only its owner: clients write keys into such files. */
const NEW_MODE = 0o600;

export interface FileBefore {
  /** Undefined: there was no file. */
  readonly text: string | undefined;
}

export class LinkedFile {
  readonly path: string;
  readonly #name: string;
  readonly text: string | undefined;
  readonly #mode: number;

  /** `name`: of the entry, which the copy is named after. Throws a LinkError where the file must not be changed. */
  constructor(named: string, name: string) {
    this.path = real(named);
    this.#name = name;
    const stat = statSync(this.path, { throwIfNoEntry: false });
    this.#mode = stat === undefined ? NEW_MODE : stat.mode & 0o777;
    this.text = textIn(this.path);
  }

  /** As it was before the entry was added. Undefined where no entry was added, or it was taken out again. */
  get before(): FileBefore | undefined {
    if (existsSync(this.#absent)) return { text: undefined };
    const text = textIn(this.#copy);
    return text === undefined ? undefined : { text };
  }

  /** Where the copy is, for people. */
  get copy(): string | undefined {
    return existsSync(this.#copy) ? this.#copy : undefined;
  }

  keepCopy(): void {
    orLinkError(() => {
      mkdirSync(dirname(this.path), { recursive: true });
      this.forget();
      if (this.text === undefined) writeFileSync(this.#absent, '', { mode: NEW_MODE });
      else writeFileSync(this.#copy, this.text, { mode: this.#mode });
    });
  }

  /** `undefined`: the file is deleted. */
  write(text: string | undefined): void {
    orLinkError(() => {
      const change = (now: string | undefined) => {
        if (now !== this.text) throw new LinkError('another program has just changed it; try again');
        return text ?? '';
      };
      if (text === undefined) rmSync(this.path);
      else replaceFile(this.path, change, this.#mode);
    });
  }

  forget(): void {
    rmSync(this.#copy, { force: true });
    rmSync(this.#absent, { force: true });
  }

  get #copy(): string {
    return `${this.path}.before-${this.#name}`;
  }

  /** An empty file that says that there was none. */
  get #absent(): string {
    return `${this.path}.absent-before-${this.#name}`;
  }
}

/** Undefined where there is no file. */
function textIn(path: string): string | undefined {
  return orLinkError(() => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return undefined;
    if (!stat.isFile()) throw new LinkError('it is not a file');
    if (stat.size > MOST_BYTES) throw new LinkError('it is over 64 MiB, so it is not a settings file');
    const bytes = readFileSync(path);
    // What cannot be decoded would be replaced, in the file and in its copy.
    if (!isUtf8(bytes)) throw new LinkError('it is not in UTF-8: save it in UTF-8 first');
    return bytes.toString('utf8');
  });
}

/** A link within its own directory is followed. Elsewhere, the file belongs to what manages it. */
function real(named: string): string {
  if (lstatSync(named, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return named;
  const target = orLinkError(() => realpathSync(named));
  if (dirname(target) === realpathSync(dirname(named))) return join(dirname(named), basename(target));
  throw new LinkError(`it is a symbolic link to ${target}: add there what \`--print\` shows`);
}

/** Errors of the file system, with their codes alone: their messages repeat the path. */
function orLinkError<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof LinkError) throw error;
    if (error instanceof ListFileError) throw new LinkError(error.message);
    if (error instanceof UnsafeFileError) throw new LinkError(`it is ${error.code}`);
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    if (code === undefined) throw error;
    throw new LinkError(`it cannot be read or written (${code})`);
  }
}
