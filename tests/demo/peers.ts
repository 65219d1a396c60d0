/** Ways to talk to the demo server: as a process, through the official clients, or as raw messages in this process. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { Connection } from '../../src/demo/connection.ts';
import { compiled } from '../compiled.ts';

const entry = compiled(new URL('../../src/demo/main.ts', import.meta.url));

export const demoProcess = { command: process.execPath, args: [entry] };

/** Generous, because it only decides how soon a broken test fails. */
const patienceMs = 20_000;

export type Message = { [member: string]: unknown } & {
  id?: string | number;
  method?: string;
  params?: { [member: string]: unknown };
  result?: { [member: string]: unknown };
  error?: { code: number; message: string; data?: unknown };
};

/** Everything that was received, in order, and a way to wait for what is still to come. */
export class Inbox {
  readonly messages: Message[] = [];
  readonly #waiting = new Set<() => void>();

  add(message: Message): void {
    this.messages.push(message);
    for (const look of this.#waiting) look();
  }

  async find(wanted: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      const look = (): void => {
        const message = this.messages.find(wanted);
        if (message === undefined) return;
        done();
        resolve(message);
      };
      const timer = setTimeout(() => {
        done();
        reject(new Error(`Not received; but: ${JSON.stringify(this.messages)}`));
      }, patienceMs);
      this.#waiting.add(look);
      look();
    });
  }

  async answerTo(id: string | number): Promise<Message> {
    return this.find((message) => message.id === id && message.method === undefined);
  }

  named(method: string): Message[] {
    return this.messages.filter((message) => message.method === method);
  }
}

export interface RawPeer {
  readonly inbox: Inbox;
  readonly complaints: unknown[];
  readonly send: (message: unknown) => void;
  readonly close: () => void;
  /** Sends a request and waits for its answer. */
  readonly request: (id: string | number, method: string, params?: object) => Promise<Message>;
}

/** The server in this process: what goes in and out are JSON values, copied as a pipe would. */
export function rawPeer(): RawPeer {
  const inbox = new Inbox();
  const complaints: unknown[] = [];
  const connection = new Connection({
    send: (message) => inbox.add(JSON.parse(JSON.stringify(message))),
    complain: (error) => complaints.push(error),
  });
  const send = (message: unknown): void => void connection.receive(JSON.parse(JSON.stringify(message)));
  return {
    inbox,
    complaints,
    send,
    close: () => connection.close(),
    request: async (id, method, params) => {
      send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
      return inbox.answerTo(id);
    },
  };
}

export async function legacyPeer(protocolVersion: string, capabilities: object = {}): Promise<RawPeer> {
  const peer = rawPeer();
  await peer.request('init', 'initialize', {
    protocolVersion,
    capabilities,
    clientInfo: { name: 'test', version: '1' },
  });
  peer.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return peer;
}

export const versionKey = 'io.modelcontextprotocol/protocolVersion';
export const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
export const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

export function modernParams(params: object = {}, capabilities: object = {}, meta: object = {}): object {
  return { ...params, _meta: { [versionKey]: '2026-07-28', [capabilitiesKey]: capabilities, ...meta } };
}

export interface DemoProcess {
  readonly inbox: Inbox;
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly write: (text: string) => void;
  /** Settles with the exit code when the process is gone and its output is read. */
  readonly exited: Promise<number | null>;
  /** Settles with the exit code when the process is gone, read or not. */
  readonly gone: Promise<number | null>;
}

export function startDemo({ reading } = { reading: true }): DemoProcess {
  const child = spawn(demoProcess.command, demoProcess.args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const inbox = new Inbox();
  child.stdin.on('error', () => undefined);
  child.stderr.resume();
  if (reading) createInterface({ input: child.stdout }).on('line', (line) => inbox.add(JSON.parse(line)));
  return {
    inbox,
    child,
    write: (text) => void child.stdin.write(text),
    exited: once(child, 'close').then(([code]) => code),
    gone: once(child, 'exit').then(([code]) => code),
  };
}
