/** A server as a process of ours: one message a line. */
import { systemClock } from '../../app/clock.ts';
import { Failure } from '../../errors/failure.ts';
import { howEnded } from '../../upstream/stdio/child-exit.ts';
import { endedBeforeUs, endInOrder, endWithUs } from '../../upstream/stdio/group.ts';
import { type PipedProcess, startProcess } from '../../upstream/stdio/start.ts';
import { LineReader } from '../../wire/lines.ts';
import { Inbox } from './inbox.ts';
import { type Peer, readLimits, type SendOptions } from './peer.ts';
import { objectIn, type PeerFault, type PeerReply, parsed, shown } from './reply.ts';
import type { SecretMask } from './secrets.ts';

export interface StdioPeerOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  readonly secrets: SecretMask;
}

/** How many lines of noise, and how much of the last words on stderr, are kept. */
const NOISE_LINES = 20;
const STDERR_CHARACTERS = 2_000;

export class StdioPeer implements Peer {
  readonly kind = 'stdio';
  /** Lines on standard output that are no messages. */
  readonly noise: string[] = [];
  readonly #options: StdioPeerOptions;
  readonly #process: PipedProcess;
  readonly #inbox: Inbox;
  readonly #exited: Promise<void>;
  #hasExited = false;
  #stderr = '';
  #closing: Promise<string | undefined> | undefined;

  /** Returns why it cannot be started, where it cannot. */
  static async start(options: StdioPeerOptions): Promise<StdioPeer | PeerFault> {
    const env: Record<string, string> = {};
    for (const [name, value] of Object.entries(process.env)) if (value !== undefined) env[name] = value;
    const { command, args } = options;
    try {
      return new StdioPeer(await startProcess({ command, args, env }, process.env), options);
    } catch (error) {
      const failure = error instanceof Failure ? error : new Failure('internal_error', { cause: error });
      const cause = failure.cause instanceof Error ? failure.cause.message : failure.message;
      return { finding: 'process_ended', detail: cause, cure: failure.cure?.replaceAll('`command`', 'the command') };
    }
  }

  private constructor(started: PipedProcess, options: StdioPeerOptions) {
    this.#process = started;
    this.#options = options;
    this.#inbox = new Inbox(options.timeoutMs);
    const lines = new LineReader({ lineBytes: readLimits.bytes }, 'backend_too_large');
    endWithUs(started.pid as number);
    for (const part of [started, started.stdin, started.stdout, started.stderr]) part.on('error', () => undefined);
    started.stdout.on('data', (chunk: Buffer) => {
      for (const line of lines.push(chunk))
        this.#read(line instanceof Failure ? line.message : Buffer.from(line).toString('utf8'));
    });
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARACTERS);
    });
    this.#exited = new Promise((resolve) => {
      started.once('exit', () => {
        this.#hasExited = true;
        resolve();
      });
    });
    // Output that was written before the exit is read first.
    started.once('close', (code, signal) => this.#inbox.end(this.#ended(howEnded(code, signal))));
  }

  get isOver(): boolean {
    return this.#inbox.ended !== undefined;
  }

  async send(text: string, { id, until }: SendOptions = {}): Promise<PeerReply> {
    const { secrets } = this.#options;
    const expectsNone = id === undefined && until === undefined;
    const hearing = expectsNone ? undefined : this.#inbox.listen(id, until);
    this.#process.stdin.write(`${text}\n`);
    const heard = await hearing;
    const { answer, others = [], fault, text: received = '' } = heard ?? {};
    const last = fault?.finding === 'process_ended' ? `${received}${this.#stderr}` : received;
    const bytes = { sent: shown(text, secrets), received: last === '' ? '(nothing)' : shown(last.trimEnd(), secrets) };
    return { answer, others, fault: fault ?? (expectsNone ? this.#inbox.ended : undefined), http: undefined, bytes };
  }

  /** Closes standard input, and ends the process if it does not end by itself. */
  close(): Promise<string | undefined> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<string | undefined> {
    const pid = this.#process.pid as number;
    let isOverdue = false;
    const cancel = systemClock.after(readLimits.stopMs, () => {
      isOverdue = !this.#hasExited;
    });
    await endInOrder({
      pid,
      exited: this.#exited,
      hasExited: () => this.#hasExited,
      closeInput: () => this.#process.stdin.end(),
      clock: systemClock,
      childStopMs: readLimits.stopMs + LATER_MS,
    });
    cancel();
    endedBeforeUs(pid);
    return isOverdue ? `it still ran ${readLimits.stopMs} ms after its standard input was closed` : undefined;
  }

  #read(line: string): void {
    const message = objectIn(parsed(line)?.value);
    if (message?.jsonrpc === '2.0') this.#inbox.message(message, line);
    else {
      if (this.noise.length < NOISE_LINES) this.noise.push(line);
      this.#inbox.note(line);
    }
  }

  #ended(how: string): PeerFault {
    const last = this.#stderr.trim().split('\n').slice(-3).join(' | ');
    return { finding: 'process_ended', detail: `${how}${last === '' ? '' : `; last on stderr: ${last}`}` };
  }
}

/** The signal comes a little after the limit, so that a process that ends at the limit is not blamed for the signal. */
const LATER_MS = 100;
