/**
 * One process of a stdio backend: started without a shell, read line by line, ended as the specification demands
 * (2026-07-28, basic/transports/stdio, "Shutdown"; 2025-11-25, basic/lifecycle, "Shutdown").
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { ReadLine } from '../../wire/lines.ts';
import type { Message } from '../../wire/message.ts';
import type { ChannelNotes, Reception } from '../channel.ts';
import { outOfDescriptors } from '../descriptors.ts';
import { type FloodBudget, floodFailure } from '../flood-meter.ts';
import { excerpt, readIncoming } from '../incoming.ts';
import { findAccount } from './account.ts';
import { ChildExit, howEnded, withoutValues } from './child-exit.ts';
import { endInOrder } from './ending.ts';
import { childEnvironment, type Environment } from './environment.ts';
import { endedBeforeUs, endWithUs, ownGroup } from './group.ts';
import { Output } from './output.ts';
import { cannotStart } from './start-failure.ts';
import { Stderr } from './stderr.ts';

export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Name or number. Absent: the gateway's own user. */
  readonly user?: string;
}

export interface ChildLimits {
  /** Limit of one line of stdout. */
  readonly lineBytes: number;
  /** How much of the end of stderr is kept. */
  readonly stderrBytes: number;
  /** Time limit of each step of ending it. */
  readonly childStopMs: number;
  /** Limit of bytes that wait for a child that does not read. */
  readonly stdinBytes: number;
}

/** Several of the largest messages that a client may send. A child further behind has stopped reading. */
export const STDIN_BYTES = 16 * 1024 * 1024;

export interface ChildOptions {
  readonly command: ChildCommand;
  readonly limits: ChildLimits;
  /** Shared by all processes of the backend. */
  readonly flood: FloodBudget;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly notes: ChannelNotes;
  /** Where the safe variables are inherited from. Default: our own environment. */
  readonly environment?: Environment;
}

/** Receives the events of a child. None of these may throw. */
export interface ChildSink {
  message(message: Message): Reception;
  /** A line was too long and was skipped. It was most likely a response. */
  oversized(failure: Failure): void;
  /** A line is no message. `answer`: it was the response to an open request, which has failed now. */
  unreadable(line: Uint8Array): Reception;
  /** Called once, and not after a `stop` that the listener itself ordered. */
  exited(failure: Failure): void;
  /** Whether a request waits for the child: it is not idle then, although it is silent. */
  busy(): boolean;
}

/**
 * Output written before the exit is already in the pipe. If the pipe stays open longer, a stray grandchild holds it.
 */
const LAST_OUTPUT_MS = 500;

const RUN_IT = 'run the command in a terminal: it has to stay, read stdin and write messages on stdout';

const nothing = (): void => undefined;

type Piped = ChildProcessByStdio<Writable, Readable, Readable>;

export class Child {
  readonly pid: number;
  readonly startedAt: number;
  /** Resolves when the process and its group are gone. */
  readonly gone: Promise<void>;
  /**
   * Resolves when no more output follows: with a failure where the process ended by itself, without where it was
   * stopped.
   */
  readonly ended: Promise<Failure | undefined>;
  readonly #options: ChildOptions;
  readonly #process: Piped;
  readonly #output: Output;
  readonly #stderr: Stderr;
  readonly #exited: Promise<void>;
  #resolveGone: () => void = nothing;
  #resolveEnded: (failure: Failure | undefined) => void = nothing;
  #sink: ChildSink | undefined;
  #wanted: (() => boolean) | undefined;
  #hasAnswered = false;
  #onRest: (() => void) | undefined;
  #used = false;
  #lastActive: number;
  #exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;
  /** The failure that the listener got, or would have got. */
  #failure: Failure | undefined;
  #ending: 'ordered' | 'by itself' | undefined;
  #silent = false;
  #reported = false;
  #cancelLastOutput: (() => void) | undefined;

  /** Rejects with a Failure where the command cannot be started. */
  static start(options: ChildOptions): Promise<Child> {
    const { command, args, env, cwd, user } = options.command;
    return new Promise((resolve, reject) => {
      const refuse = (cause: unknown): void =>
        reject(outOfDescriptors(cause, 'process') ?? cannotStart(cause, options.command));
      try {
        const account = user === undefined ? undefined : findAccount(user);
        if (user !== undefined && account === undefined) throw new Error(`this machine has no user ${user}`);
        const process_ = spawn(command, args, {
          ...ownGroup,
          stdio: ['pipe', 'pipe', 'pipe'],
          env: childEnvironment(options.environment ?? process.env, env, process.platform, account),
          ...(cwd === undefined ? {} : { cwd }),
          // Node also drops the gateway's supplementary groups.
          ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
        });
        process_.once('error', refuse);
        process_.once('spawn', () => {
          process_.off('error', refuse);
          resolve(new Child(process_, options));
        });
      } catch (cause) {
        refuse(cause);
      }
    });
  }

  private constructor(process_: Piped, options: ChildOptions) {
    this.#process = process_;
    this.#options = options;
    this.pid = process_.pid as number;
    this.startedAt = options.clock.now();
    this.#lastActive = this.startedAt;
    this.gone = new Promise((resolve) => {
      this.#resolveGone = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#output = new Output(process_.stdout, options, {
      line: (line) => this.#onLine(line),
      // A child that closed its output can answer no more requests, whether it exits or not.
      ended: () => this.#awaitLastOutput(),
      paused: () => options.notes.flood('paused', 'stdout'),
      flooded: () => this.#onFlood('stdout'),
    });
    this.#stderr = new Stderr(process_.stderr, {
      stderrBytes: options.limits.stderrBytes,
      flood: options.flood,
      clock: options.clock,
      tell: (line) => options.notes.noise('stderr', line),
      paused: () => options.notes.flood('paused', 'stderr'),
      // Floods on stderr end the child only while no request waits: a verbose server that works is only slowed down.
      tryEnd: () => !this.busy && this.#onFlood('stderr'),
    });
    endWithUs(this.pid);
    // A broken pipe means that the child is exiting; `exit` reports it.
    process_.on('error', nothing);
    process_.stdin.on('error', nothing);
    process_.stdout.on('error', nothing);
    process_.stderr.on('error', nothing);
    this.#exited = new Promise((resolve) => {
      process_.once('exit', (code, signal) => {
        this.#onExit(code, signal);
        resolve();
      });
    });
    process_.once('close', () => this.#report());
  }

  /** Whether anything was ever sent. A legacy process that was used belongs to a session. */
  get used(): boolean {
    return this.#used;
  }

  get alive(): boolean {
    return this.#ending === undefined && this.#failure === undefined;
  }

  get busy(): boolean {
    return this.#sink?.busy() ?? false;
  }

  /** Whether the process must keep running although it is idle. */
  get kept(): boolean {
    return this.#wanted?.() ?? false;
  }

  keepWhile(wanted: () => boolean): void {
    this.#wanted = wanted;
  }

  /** Whether it ever answered anything. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Calls `action` whenever no request waits for the child any more. */
  onRest(action: () => void): void {
    this.#onRest = action;
  }

  rested(): void {
    this.#onRest?.();
  }

  /**
   * When the process was last of use: it got a request, or sent something for a caller. Our answer to its ping does not
   * count.
   */
  get lastActive(): number {
    return this.#lastActive;
  }

  touch(): void {
    this.#lastActive = this.#options.clock.now();
  }

  /** Output is read only from here on, so that nothing is lost between the start and the first listener. */
  attach(sink: ChildSink): void {
    this.#sink = sink;
    if (this.#reported) {
      const failure = this.#failure;
      if (failure !== undefined) queueMicrotask(() => sink.exited(failure));
      return;
    }
    this.#output.read();
  }

  /** Writes one line. Throws a Failure where the child is gone, or does not read its input. */
  send(line: Uint8Array): void {
    const { stdin } = this.#process;
    if (!this.alive || !stdin.writable) throw this.#failure ?? new Failure('backend_unavailable');
    if (stdin.writableLength + line.byteLength > this.#options.limits.stdinBytes) {
      throw new Failure('backend_busy', { message: 'Backend busy: it does not read what it is sent' });
    }
    this.#used = true;
    stdin.write(line);
  }

  /**
   * Closes stdin, waits, sends SIGTERM to the group, waits, sends SIGKILL. Resolves when the process is gone. With a
   * failure the listener gets it as the loss of its child; without one, the listener itself ordered the stop.
   */
  stop(failure?: Failure): Promise<void> {
    if (failure === undefined) this.#silent = true;
    else this.#tell(failure);
    this.#begin('ordered');
    return this.gone;
  }

  #onLine(line: ReadLine): void {
    if (this.#reported) return;
    if (line instanceof Failure) {
      this.#options.notes.noise('unreadable', line.message);
      this.#output.count('none', this.#options.limits.lineBytes);
      this.#sink?.oversized(line);
      return;
    }
    let messages: readonly Message[];
    try {
      messages = readIncoming(line);
    } catch {
      this.#options.notes.noise('stdout', excerpt(line));
      this.#output.count(this.#sink?.unreadable(line) ?? 'none', line.byteLength);
      return;
    }
    for (const message of messages) this.#onMessage(message);
  }

  /** Messages that belong to no call or session are no activity: a child that writes nothing else is idle. */
  #onMessage(message: Message): void {
    const reception = this.#sink?.message(message) ?? 'none';
    if (reception === 'answer') this.#hasAnswered = true;
    if (reception !== 'none' && reception !== 'late') this.touch();
    this.#output.count(reception, message.bytes.byteLength);
  }

  /**
   * Treated like a crash, so that the restart backoff applies. The pipes are closed, so the child cannot go on writing
   * while it is being ended.
   */
  #onFlood(where: string): boolean {
    if (this.#ending === undefined) {
      this.#options.notes.flood('ended', where);
      this.#tell(floodFailure());
      this.#begin('by itself');
    }
    this.#output.destroy();
    this.#process.stderr.destroy();
    return true;
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    this.#exit = { code, signal };
    this.#output.finish();
    this.#awaitLastOutput();
    // Ends what the process left behind in its group.
    this.#begin('by itself');
  }

  #awaitLastOutput(): void {
    if (this.#reported) return;
    this.#cancelLastOutput ??= this.#options.clock.after(LAST_OUTPUT_MS, () => this.#report());
  }

  #report(): void {
    this.#cancelLastOutput?.();
    if (this.#reported) return;
    this.#reported = true;
    this.#stderr.end();
    const { code, signal } = this.#exit ?? { code: null, signal: null };
    const cause = new ChildExit(code, signal, withoutValues(this.#stderr.tail(), this.#options.command.env));
    const message = `Backend process ended without an answer (${howEnded(code, signal)})`;
    const cure = cause.stderr.trim() === '' ? RUN_IT : `do what it says on stderr, or ${RUN_IT}`;
    const failure = new Failure('backend_unavailable', { message, cause, cure });
    this.#begin('by itself');
    this.#tell(failure);
    this.#resolveEnded(this.#ending === 'ordered' ? undefined : (this.#failure ?? failure));
  }

  #tell(failure: Failure): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure;
    if (!this.#silent) this.#sink?.exited(failure);
  }

  #begin(ending: 'ordered' | 'by itself'): void {
    if (this.#ending !== undefined) return;
    this.#ending = ending;
    // Without a reader the pipe stays full, and a pipe that is not empty never closes.
    if (this.#sink === undefined) this.#process.stdout.resume();
    void this.#end();
  }

  async #end(): Promise<void> {
    const { stdin, stdout, stderr } = this.#process;
    await endInOrder({
      pid: this.pid,
      exited: this.#exited,
      hasExited: () => this.#exit !== undefined,
      closeInput: () => stdin.end(),
      clock: this.#options.clock,
      childStopMs: this.#options.limits.childStopMs,
    });
    this.#awaitLastOutput();
    await this.ended;
    stdin.destroy();
    stdout.destroy();
    stderr.destroy();
    endedBeforeUs(this.pid);
    this.#resolveGone();
  }
}
