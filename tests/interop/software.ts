/** Where other people's software is kept: `.cache/`, one folder for each set of pinned versions. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const HERE = fileURLToPath(new URL('./', import.meta.url));
export const CACHE = join(HERE, '.cache');

/**
 * What has to be there before a program can start: one of the sets below, or nothing beyond the project's own
 * `node_modules`. A set is pinned by a file: `python/<venv>.txt`, `npm/package-lock.json`, `go/go.sum`,
 * `rust/Cargo.toml`.
 */
export type Installed = 'project' | 'npm' | 'go' | 'rust' | { readonly venv: string };

/** A program in a Python environment. */
export const bin = (venv: string, program: string): string => join(CACHE, venv, 'bin', program);

/** A file in an npm package. */
export const npmFile = (path: string): string => join(CACHE, 'npm', 'node_modules', path);

/** A program that was built from `go/<name>` or `rust/src/bin/<name>.rs`. */
export const built = (language: 'go' | 'rust', name: string): string => join(CACHE, language, 'bin', name);
