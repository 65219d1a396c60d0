/**
 * One process of a stdio backend: started without a shell, read line by line, ended as the specification demands
 * (2026-07-28, basic/transports/stdio, "Shutdown"; 2025-11-25, basic/lifecycle, "Shutdown").
 */
import type { Limits } from '../../config/limits.ts';
import { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { Message } from '../../wire/message.ts';
import type { ChannelNotes } from '../channel.ts';
import { type FloodBudget, floodFailure } from '../flood-meter.ts';
import type { Reception } from '../reception.ts';
import { ChildExit, howEnded, withoutValues } from './child-exit.ts';
import type { Environment } from './environment.ts';
import { endedBeforeUs, endInOrder, endWithUs, killGroup } from './group.ts';
import { Input } from './input.ts';
import { Output } from './output.ts';
import type { Sandbox } from './sandbox/start.ts';
import { type ChildCommand, type PipedProcess, startProcess } from './start.ts';
import { Stderr } from './stderr.ts';

export interface ChildLimits extends Pick<Limits, 'lineBytes' | 'stderrBytes' | 'childStopMs'> {
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

const RUN_IT = 'run the command in a terminal: it must keep running, read stdin and write messages to stdout';

const nothing = (): void => undefined;

export class Child {
  readonly pid: number;
  readonly startedAt: number;
  /** Whether anything was ever sent. A legacy process that was used belongs to a session. */
  used = false;
  /** Whether it ever answered anything. */
  hasAnswered = false;
  /**
   * When the process was last of use: it got a request, or sent something for a caller. Our answer to its ping does not
   * count.
   */
  lastActive: number;
  /** Resolves when the process and its group are gone. */
  readonly gone: Promise<void>;
  /**
   * Resolves when no more output follows: with a failure where the process ended by itself, without where it was
   * stopped.
   */
  readonly ended: Promise<Failure | undefined>;
  readonly #options: ChildOptions;
  readonly #process: PipedProcess;
  readonly #sandbox: Sandbox | undefined;
  readonly #input: Input;
  readonly #output: Output;
  readonly #stderr: Stderr;
  readonly #exited: Promise<void>;
  #resolveGone: () => void = nothing;
  #resolveEnded: (failure: Failure | undefined) => void = nothing;
  #sink: ChildSink | undefined;
  #wanted: (() => boolean) | undefined;
  #onRest: (() => void) | undefined;
  #exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;
  /** The failure that the listener got, or would have got. */
  #failure: Failure | undefined;
  #ending: 'ordered' | 'by itself' | undefined;
  #silent = false;
  #reported = false;
  #cancelLastOutput: (() => void) | undefined;

  /** Rejects with a Failure where the command cannot be started. */
  static async start(options: ChildOptions): Promise<Child> {
    const { command, environment = process.env } = options;
    if (command.sandbox === undefined) return new Child(await startProcess(command, environment), options);
    // Loaded only where a backend wants one.
    const { startSandboxed } = await import('./sandbox/start.ts');
    const { started, sandbox } = await startSandboxed(command, command.sandbox, environment, options);
    return new Child(started, options, sandbox);
  }

  private constructor(process_: PipedProcess, options: ChildOptions, sandbox?: Sandbox) {
    this.#process = process_;
    this.#sandbox = sandbox;
    this.#options = options;
    this.pid = process_.pid as number;
    this.startedAt = options.clock.now();
    this.lastActive = this.startedAt;
    this.gone = new Promise((resolve) => {
      this.#resolveGone = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#input = new Input(process_.stdin, options.limits.stdinBytes);
    this.#output = new Output(process_.stdout, options, {
      message: (message) => this.#onMessage(message),
      oversized: (failure) => this.#sink?.oversized(failure),
      unreadable: (line) => this.#sink?.unreadable(line) ?? 'none',
      // A child that closed its output can answer no more requests, whether it exits or not.
      ended: () => this.#awaitLastOutput(),
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
    sandbox?.watch((failure) => this.#onBreach(failure));
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

  /** Calls `action` whenever no request waits for the child any more. */
  onRest(action: () => void): void {
    this.#onRest = action;
  }

  rested(): void {
    this.#onRest?.();
  }

  touch(): void {
    this.lastActive = this.#options.clock.now();
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
    if (!this.alive || !this.#input.isOpen) throw this.#failure ?? new Failure('backend_unavailable');
    this.#input.send(line);
    this.used = true;
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

  /** Messages that belong to no call or session are no activity: a child that writes nothing else is idle. */
  #onMessage(message: Message): Reception {
    const reception = this.#sink?.message(message) ?? 'none';
    if (reception === 'answer') this.hasAnswered = true;
    if (reception !== 'none' && reception !== 'late') this.touch();
    return reception;
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

  /** At once: it harms others as long as it runs. */
  #onBreach(failure: Failure): void {
    killGroup(this.pid);
    this.#tell(failure);
    this.#begin('by itself');
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
    this.#output.ignore();
    this.#stderr.end();
    const { code, signal } = this.#exit ?? { code: null, signal: null };
    const cause = new ChildExit(code, signal, withoutValues(this.#stderr.tail(), this.#options.command.env));
    const message = `Backend process ended without a response (${howEnded(code, signal)})`;
    const cure = cause.stderr.trim() === '' ? RUN_IT : `follow what it writes to stderr, or ${RUN_IT}`;
    const failure = this.#sandbox?.verdict() ?? new Failure('backend_unavailable', { message, cause, cure });
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
    this.#sandbox?.release();
    this.#resolveGone();
  }
}
