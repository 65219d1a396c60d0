/** The program itself, started as people start it: `node bin/bascule.js ...`. Ended when the test is over. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject, onTestFinished } from 'vitest';
import { DEADLINE_MS, type Json, until, within } from './client.ts';

/** Enough for a stack trace. */
const LAST_WORDS = 4000;
/** With workers, four processes start on a machine that may be busy. */
const STARTED_MS = 20_000;

export interface ProgramOptions {
  /** Files of the working directory, by name. It has no others. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory, which is left as it is. Default: a new one. */
  readonly folder?: string;
  /** For node itself. */
  readonly flags?: readonly string[];
  /** The limit of open files that it is started with. */
  readonly openFiles?: number;
  /** False: stderr is a pipe that is not read until `readStderr`. */
  readonly readsStderr?: boolean;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class Program {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly exited: Promise<Exit>;
  #stdout = '';
  #stderr = '';
  #exit: Exit | undefined;

  constructor(child: ChildProcessWithoutNullStreams, readsStderr = true) {
    this.#child = child;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
    });
    if (readsStderr) this.readStderr();
    child.stdin.on('error', () => undefined);
    this.exited = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        this.#exit = { code, signal };
        resolve(this.#exit);
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  get running(): boolean {
    return this.#exit === undefined;
  }

  /** How it ended, and its last output: for the message of a failing test. */
  get obituary(): string {
    return `${JSON.stringify(this.#exit)} ${this.#stdout.slice(-LAST_WORDS)}${this.#stderr.slice(-LAST_WORDS)}`;
  }

  write(bytes: string | Uint8Array): void {
    this.#child.stdin.write(bytes);
  }

  endInput(): void {
    this.#child.stdin.end();
  }

  /** Reads what is written on stderr from now on, and what waits in the pipe. */
  readStderr(): void {
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
  }

  /** Closes the reading end of its stderr: writing there fails with EPIPE. */
  async stopReadingStderr(): Promise<void> {
    const { stderr } = this.#child;
    await new Promise<void>((resolve) => {
      stderr.once('close', () => resolve());
      stderr.destroy();
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits for it to be said on stdout. */
  async says(text: RegExp, withinMs?: number): Promise<RegExpExecArray> {
    await until(() => text.test(this.#stdout) || !this.running, `${text} is said in: ${this.obituary}`, withinMs);
    const found = text.exec(this.#stdout);
    if (found === null) throw new Error(`it ended without ${text}: ${this.obituary}`);
    return found;
  }

  /** Waits for its end. */
  end(): Promise<Exit> {
    return within(this.exited, () => `it does not end: ${this.obituary}`);
  }
}

export function start(args: readonly string[], options: ProgramOptions = {}): Program {
  const { files = {}, env = {}, flags = [], readsStderr, openFiles, folder } = options;
  const cwd = folder ?? mkdtempSync(join(tmpdir(), 'bascule-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  // Nothing of the machine's own, so that a test sees the same everywhere.
  const executable = inject('executable');
  if (executable === undefined) throw new Error('the program was not built: see the beginning of the run');
  const command = [process.execPath, ...flags, executable, ...args];
  // The limit is inherited; the shell makes way for the program.
  const limited =
    openFiles === undefined ? command : ['sh', '-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', ...command];
  const [file = '', ...rest] = limited;
  const child = spawn(file, rest, {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, ...env },
  });
  const program = new Program(child, readsStderr);
  onTestFinished(async () => {
    if (program.running) child.kill('SIGKILL');
    await program.exited;
    if (folder === undefined) rmSync(cwd, { recursive: true, force: true });
  });
  return program;
}

/** Runs it to its end. */
export async function run(args: readonly string[], options?: ProgramOptions): Promise<Program & { exit: Exit }> {
  const program = start(args, options);
  return Object.assign(program, { exit: await program.end() });
}

/** A config as text: JSON is YAML. */
export function configFile(config: unknown): { readonly files: Readonly<Record<string, string>> } {
  return { files: { 'bascule.yaml': JSON.stringify(config) } };
}

export interface Served {
  readonly program: Program;
  readonly origin: string;
  /** The address of one backend alone, or of `/mcp`. */
  url(backend?: string): string;
}

/** `bascule serve` on a port of its own, once it listens. `last`: what follows all options. */
export async function serve(
  args: readonly string[] = [],
  options: ProgramOptions = {},
  last: readonly string[] = [],
): Promise<Served> {
  const program = start(['serve', ...args, '--port', '0', ...last], options);
  const [, shown = '', listening] = await program.says(
    /^Bascule \S+ {2}(https?:\/\/[^/\s]+)\/\S*(?: {2}\(listening on (\S+)\))?\n/m,
    STARTED_MS,
  );
  const origin = listening ?? shown;
  return {
    program,
    origin,
    url: (backend) => (backend === undefined ? `${origin}/mcp` : `${origin}/servers/${backend}/mcp`),
  };
}

/** `bascule stdio`: one message a line each way. */
export class StdioClient {
  readonly program: Program;

  constructor(options: ProgramOptions = {}, args: readonly string[] = []) {
    this.program = start(['stdio', ...args], options);
  }

  say(message: unknown): void {
    this.program.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  }

  /** What was said on stdout, line by line. A last line without an end is not there yet. */
  get lines(): readonly string[] {
    return this.program.stdout.split('\n').slice(0, -1);
  }

  get heard(): readonly Json[] {
    return this.lines.map((line) => JSON.parse(line));
  }

  async message(fits: (message: Json) => boolean): Promise<Json> {
    const deadline = Date.now() + DEADLINE_MS;
    for (;;) {
      const found = this.heard.find(fits);
      if (found !== undefined) return found;
      if (!this.program.running || Date.now() > deadline) throw new Error(`no such message: ${this.program.obituary}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Says it, and waits for the answer. */
  ask(request: Json): Promise<Json> {
    this.say(request);
    return this.message(({ id, method }) => id === request.id && method === undefined);
  }
}
