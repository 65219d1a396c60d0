/** Runs one build with one config, and plays exchanges against it, one after the other. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Backends } from './backends.ts';
import { HttpExchange, type HttpRequest, requestText } from './http.ts';
import type { Transcript } from './transcript.ts';

const START_MS = 60_000;
const STOP_MS = 30_000;
/** Nothing was sent for so long, twice: an exchange is over. */
const REST_MS = 8;

/** So that no limit of time decides about bytes on a busy machine. */
export const calmLimits = {
  ...{ sseAfterMs: '1h', keepAliveMs: '1h', changesMs: 0, probeMs: '1min', probesAtOnce: 1, drainMs: '2s' },
  ...{ listWaitMs: '1min', discoverWaitMs: '1min', headersMs: '1min', bodyMs: '1min', readerStallMs: '10min' },
};

export interface Program {
  /** `dist/main.js` of the build. */
  readonly main: string;
  readonly port: number;
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly backends: Backends;
}

export class Player {
  readonly transcript: Transcript;
  readonly port: number;
  readonly folder: string;
  readonly #program: Program;
  readonly #stage: string;
  #gateway: ChildProcess | undefined;
  #stdout = '';
  #stderr = '';

  constructor(program: Program, transcript: Transcript, stage: string) {
    this.#program = program;
    this.transcript = transcript;
    this.#stage = stage;
    this.port = program.port;
    this.folder = join(program.folder, stage);
    mkdirSync(this.folder, { recursive: true });
  }

  writeConfig(config: object): void {
    const { limits, ...rest } = config as { limits?: object };
    const whole = { listen: { port: this.port }, store: { dir: 'state' }, watch: false, ...rest };
    writeFileSync(
      join(this.folder, 'bascule.yaml'),
      JSON.stringify({ ...whole, limits: { ...calmLimits, ...limits } }, undefined, 1),
    );
  }

  /** `command` is serve or stdio. Serving begins when every backend that is named is there. */
  async start(config: object, command: 'serve' | 'stdio', backends: readonly string[] = []): Promise<ChildProcess> {
    this.writeConfig(config);
    this.transcript.begin('start', `${this.#stage} / start`);
    const preload = fileURLToPath(new URL('preload.js', import.meta.url));
    const gateway = spawn(process.execPath, ['--import', preload, this.#program.main, command, 'bascule.yaml'], {
      cwd: this.folder,
      env: { PATH: process.env.PATH ?? '', HOME: this.folder, ...this.#program.env },
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    });
    this.#gateway = gateway;
    gateway.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    if (command === 'stdio') return gateway;
    gateway.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
    });
    const isReady = this.waitFor(
      () => backends.every((name) => this.#stdout.includes(`  ${name}  ready`)) && this.#stdout.includes('Backends:'),
      START_MS,
    );
    await isReady.catch((error: unknown) => {
      throw new Error(`the gateway does not start: ${this.#stdout}${this.#stderr}`, { cause: error });
    });
    await this.#settle();
    return gateway;
  }

  /** One exchange. What goes wrong in the player itself is part of the transcript, too. */
  async play(kind: string, name: string, action: () => Promise<void> | void): Promise<void> {
    this.transcript.begin(kind, `${this.#stage} / ${name}`);
    try {
      await action();
    } catch (error) {
      this.transcript.add('player', '!', `${String(error)}\n`);
    }
    await this.#settle();
  }

  /** Sends a request of its own, and waits for the whole answer. */
  async http(request: HttpRequest | string, channel = 'client'): Promise<HttpExchange> {
    const exchange = this.open(request, channel);
    await exchange.whole();
    return exchange;
  }

  open(request: HttpRequest | string, channel = 'client'): HttpExchange {
    const bytes = typeof request === 'string' ? request : requestText(this.port, request);
    return new HttpExchange(this.port, this.transcript, channel, bytes);
  }

  /** Resolves when the gateway has handled what it got before, and its clock stands so much later. */
  advance(advanceMs: number): Promise<void> {
    const gateway = this.#gateway;
    return new Promise((resolve) => {
      if (gateway?.connected !== true) return resolve();
      const done = () => {
        gateway.off('message', done).off('disconnect', done);
        resolve();
      };
      gateway.on('message', done).on('disconnect', done);
      gateway.send({ advanceMs });
    });
  }

  /** Until the log says so. */
  reload(config: object, said: string): Promise<void> {
    this.writeConfig(config);
    this.#gateway?.kill('SIGHUP');
    return this.waitFor(() => this.#stderr.includes(said));
  }

  printed(text: string): Promise<void> {
    return this.waitFor(() => this.#stdout.includes(text));
  }

  /** Resolves when something has reached a backend in this exchange. */
  reached(): Promise<void> {
    const channels = this.transcript.exchanges.at(-1)?.channels ?? new Map<string, unknown>();
    return this.waitFor(() => [...channels.keys()].some((name) => name.startsWith('backend')));
  }

  async waitFor(condition: () => boolean, ms = 10_000): Promise<void> {
    const until = Date.now() + ms;
    while (!condition()) {
      const hasEnded = this.#gateway?.exitCode !== null;
      if (hasEnded || Date.now() > until) throw new Error('waited in vain');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Until nothing moves any more: neither on the recorded connections nor in the gateway. */
  async #settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      const { pieces } = this.transcript;
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
      await this.advance(0);
      await this.#program.backends.rest();
      quiet = this.transcript.pieces === pieces ? quiet + 1 : 0;
    }
  }

  /** Ends the gateway. Its log, its start-up lines and its audit trail are the last exchange. */
  async stop(): Promise<void> {
    this.transcript.begin('shutdown', `${this.#stage} / shutdown`);
    const gateway = this.#gateway;
    if (gateway !== undefined && gateway.exitCode === null) {
      gateway.kill('SIGTERM');
      const timer = setTimeout(() => gateway.kill('SIGKILL'), STOP_MS);
      await new Promise((resolve) => gateway.once('exit', resolve));
      clearTimeout(timer);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    this.transcript.add('exit', '<', `${gateway?.exitCode} ${gateway?.signalCode}`);
    // Backends get ready, and their processes end, in an order that nobody promises.
    const sorted = (text: string) => text.split('\n').sort().join('\n');
    this.transcript.add('stdout', '<', sorted(this.#stdout));
    this.transcript.add('log', '<', sorted(this.#stderr));
    const audit = join(this.folder, 'audit.jsonl');
    if (existsSync(audit)) this.transcript.add('audit', '<', readFileSync(audit, 'latin1'));
  }
}
