/**
 * `mcp-remote`, as a client that speaks stdio starts it: it registers, waits for the person, and passes messages on.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROXY = fileURLToPath(new URL('../../node_modules/mcp-remote/dist/proxy.js', import.meta.url));
/** A cold start and a login on a busy machine. */
const LIMIT_MS = 60_000;

export interface Message {
  readonly id?: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

export class Remote {
  readonly #child;
  readonly #answers = new Map<number, (message: Message) => void>();
  /** The authorization URL; undefined if no user is needed. */
  readonly asks: Promise<string>;
  said = '';

  constructor(url: string, folder: string) {
    this.#child = spawn(process.execPath, [PROXY, url, '--allow-http'], {
      // No browser of its own: the test is the user.
      env: { PATH: '/nonexistent', HOME: folder, MCP_REMOTE_CONFIG_DIR: join(folder, 'mcp-auth'), BROWSER: 'none' },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    this.asks = new Promise((resolve) => {
      this.#child.stderr.on('data', (chunk: Buffer) => {
        this.said += chunk.toString();
        const [, found] = /^(http\S+\/oauth\/authorize\?\S+)$/m.exec(this.said) ?? [];
        if (found !== undefined) resolve(found);
      });
    });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const message = JSON.parse(line) as Message;
      if (message.id !== undefined) this.#answers.get(message.id)?.(message);
    });
  }

  async request(id: number, method: string, params: object): Promise<Message> {
    const answer = new Promise<Message>((resolve) => this.#answers.set(id, resolve));
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    const ended = once(this.#child, 'close').then((): Message => ({ error: { message: `it ended: ${this.said}` } }));
    return Promise.race([answer, ended]);
  }

  notify(method: string): void {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGTERM');
    await closed;
  }
}

/** Initialises and calls a tool; what the tool said. */
export async function useTool(remote: Remote): Promise<unknown> {
  const clientInfo = { name: 'behind-mcp-remote', version: '1' };
  const first = await remote.request(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  if (first.error !== undefined) throw new Error(first.error.message);
  remote.notify('notifications/initialized');
  const called = await remote.request(2, 'tools/call', { name: 'echo', arguments: { message: 'hello' } });
  if (called.error !== undefined) throw new Error(called.error.message);
  return called.result?.content;
}
