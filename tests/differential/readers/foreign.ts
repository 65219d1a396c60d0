/** Readers in other languages: one process each, one message a line. */
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Facts, Reading } from './facts.ts';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** One that takes longer for a message hangs. */
const ANSWER_MS = 60_000;

export class ForeignReader {
  readonly name: string;
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting: ((line: string) => void)[] = [];
  readonly #cleanUp: () => void;

  constructor(name: string, command: readonly string[], cleanUp: () => void = () => undefined) {
    const [file = '', ...args] = command;
    this.name = name;
    this.#cleanUp = cleanUp;
    this.#process = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#waiting.shift()?.(line));
  }

  read(text: Buffer): Promise<Reading> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the ${this.name} reader does not answer`)), ANSWER_MS);
      this.#waiting.push((line) => {
        clearTimeout(timer);
        resolve({ reader: this.name, facts: JSON.parse(line) as Facts[] });
      });
      this.#process.stdin.write(`${text.toString('base64')}\n`);
    });
  }

  close(): void {
    this.#process.kill();
    this.#cleanUp();
  }
}

/** Fails where Go or Python is missing: without them the run would prove less than it says. */
export function startForeignReaders(): ForeignReader[] {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-readers-'));
  const program = join(folder, 'reader');
  try {
    execFileSync('go', ['build', '-o', program, here('./main.go')], { stdio: ['ignore', 'inherit', 'inherit'] });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error('The differential run needs Go (https://go.dev) to build a reader with encoding/json.', {
      cause: error,
    });
  }
  const python = ['python3', 'python'].find((command) => canRun(command));
  if (python === undefined) throw new Error('The differential run needs Python 3 for a reader with its json module.');
  return [
    new ForeignReader('Go', [program], () => rmSync(folder, { recursive: true, force: true })),
    new ForeignReader('Python', [python, here('./main.py')]),
  ];
}

function canRun(command: string): boolean {
  try {
    execFileSync(command, ['-c', 'import sys; assert sys.version_info >= (3, 9)'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
