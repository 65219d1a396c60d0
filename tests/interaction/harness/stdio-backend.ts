/**
 * Scripted MCP backends over stdio: real processes on real pipes, moved by the test. A script says what happens for a
 * method; what it leaves out is answered as an ordinary server of that era would.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { LineReader } from '../../../src/wire/lines.ts';
import { type Json, until } from './client.ts';
import { agreed, discovered, type ScriptedOptions } from './http-backend.ts';

const puppet = fileURLToPath(new URL('./puppet.js', import.meta.url));
/** Far over what any test sends. */
const LINE_BYTES = 64 * 1024 * 1024;

/** How a process behaves at its end: it stays though stdin closed, it ignores SIGTERM, it has a child of its own. */
export type Manner = 'stays' | 'ignores-sigterm' | 'has-child';

export interface StdioOptions extends ScriptedOptions {
  readonly manners?: readonly Manner[];
}

/** One process of the backend. */
export class BackendProcess {
  readonly pid: number;
  /** Of the child that it started, where it has one. */
  readonly childPid: number | undefined;
  /** The messages that it got. */
  readonly received: Json[] = [];
  /** Signals, and `end` for the end of stdin, in order. */
  readonly told: string[] = [];
  readonly #socket: Socket;
  #input = '';
  #gone = false;

  constructor(socket: Socket, pid: number, childPid: number | undefined) {
    this.#socket = socket;
    this.pid = pid;
    this.childPid = childPid;
    socket.on('close', () => {
      this.#gone = true;
    });
  }

  /** Every byte that came on stdin, one character each. */
  get input(): string {
    return this.#input;
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** A message on stdout. */
  say(message: unknown): void {
    this.print(`${JSON.stringify(message)}\n`);
  }

  /** Any bytes on stdout. */
  print(output: string | Uint8Array): void {
    this.#order({ out: Buffer.from(output).toString('latin1') });
  }

  complain(text: string): void {
    this.#order({ err: text });
  }

  exit(code: number): void {
    this.#order({ exit: code });
  }

  took(bytes: string): void {
    this.#input += bytes;
  }

  #order(order: object): void {
    this.#socket.write(`${JSON.stringify(order)}\n`);
  }
}

/** One message that a process got, and how a script answers it. */
export class StdioTurn {
  readonly process: BackendProcess;
  readonly message: Json;

  constructor(process: BackendProcess, message: Json) {
    this.process = process;
    this.message = message;
  }

  result(result: object): void {
    this.process.say({ jsonrpc: '2.0', id: this.message.id, result });
  }

  error(code: number, message: string, data?: unknown): void {
    const error = { code, message, ...(data === undefined ? {} : { data }) };
    this.process.say({ jsonrpc: '2.0', id: this.message.id, error });
  }

  notify(method: string, params: object): void {
    this.process.say({ jsonrpc: '2.0', method, params });
  }
}

export type StdioScript = Readonly<Record<string, (turn: StdioTurn) => void>>;

export interface StdioBackend {
  /** For the config of a gateway. */
  readonly command: string;
  readonly args: readonly string[];
  /** In the order of their start. */
  readonly processes: readonly BackendProcess[];
  /** Messages of one method at all processes, in order. */
  of(method: string): readonly StdioTurn[];
  /** Waits for the nth message of a method (from 1). */
  arrival(method: string, nth?: number): Promise<StdioTurn>;
  close(): Promise<void>;
}

/** A modern backend: `server/discover`, and what the script says. */
export function modernProcess(script: StdioScript = {}, options: StdioOptions = {}): Promise<StdioBackend> {
  return forThisTest(options, (turn) => {
    const { method, id } = turn.message;
    const scripted = script[method ?? 'response'];
    if (scripted !== undefined) scripted(turn);
    else if (method === 'server/discover') turn.result(discovered(options));
    else if (id !== undefined) turn.error(-32601, 'Method not found');
  });
}

/** A legacy backend: `initialize`, and what the script says. */
export function legacyProcess(script: StdioScript = {}, options: StdioOptions = {}): Promise<StdioBackend> {
  return forThisTest(options, (turn) => {
    const { method, id } = turn.message;
    const scripted = script[method ?? 'response'];
    if (scripted !== undefined) scripted(turn);
    else if (method === 'initialize') turn.result(agreed(turn.message, options));
    else if (method !== undefined && id !== undefined) turn.error(-32601, 'Method not found');
  });
}

async function forThisTest(options: StdioOptions, handle: (turn: StdioTurn) => void): Promise<StdioBackend> {
  const processes: BackendProcess[] = [];
  const turns: StdioTurn[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    follow(socket, {
      started: (process) => processes.push(process),
      message: (turn) => {
        turns.push(turn);
        turn.process.received.push(turn.message);
        handle(turn);
      },
    });
  });
  const sockets = keepSockets(server);
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
  const of = (method: string) => turns.filter(({ message }) => message.method === method);
  const backend: StdioBackend = {
    command: process.execPath,
    args: [puppet, String(port), ...(options.manners ?? [])],
    processes,
    of,
    arrival: async (method, nth = 1) => {
      await until(() => of(method).length >= nth, `the backend got ${method} (${nth})`);
      return of(method)[nth - 1] as StdioTurn;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  onTestFinished(() => backend.close());
  return backend;
}

interface Follower {
  started(process: BackendProcess): void;
  message(turn: StdioTurn): void;
}

/** What a process tells, as it happens. */
function follow(socket: Socket, follower: Follower): void {
  const facts = new LineReader({ lineBytes: LINE_BYTES });
  const input = new LineReader({ lineBytes: LINE_BYTES });
  let process: BackendProcess | undefined;
  socket.on('data', (chunk: Buffer) => {
    for (const line of facts.push(chunk)) {
      if (!(line instanceof Uint8Array)) throw line;
      const fact: Json = JSON.parse(Buffer.from(line).toString());
      if (process === undefined) {
        process = new BackendProcess(socket, fact.pid, fact.child);
        follower.started(process);
      } else if (fact.in === undefined) process.told.push(fact.signal ?? 'end');
      else {
        process.took(fact.in);
        for (const one of input.push(Buffer.from(fact.in, 'latin1'))) {
          if (!(one instanceof Uint8Array)) throw one;
          follower.message(new StdioTurn(process, JSON.parse(Buffer.from(one).toString())));
        }
      }
    }
  });
}

function keepSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  return sockets;
}
