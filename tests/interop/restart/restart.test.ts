/**
 * A restart of the gateway under official SDK clients of Python and Go, in the legacy era: the same session goes on,
 * its subscription survives, and its standalone stream comes back.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/app/clock.ts';
import { Storage } from '../../../src/app/storage.ts';
import { configOf } from '../../config/loading.ts';
import { until } from '../../interaction/harness/client.ts';
import { freePort } from '../../interaction/harness/ports.ts';
import { type Program, start } from '../../interaction/harness/program.ts';
import { launchBackend } from '../../interaction/sdk/backends.ts';
import { verifies } from '../../requirements/verifies.ts';
import { bin, built } from '../software.ts';

interface Sdk {
  readonly name: string;
  readonly command: readonly string[];
  /**
   * How long the gateway may be away before the client gives up its standalone stream. Calls go on all the same.
   * Python: it tries again once, a second after a stream that was cut (`MAX_RECONNECTION_ATTEMPTS` counts the cut, too,
   * and the count begins anew only after a stream that was ended in order). Go: five times, for about 13 s.
   */
  readonly patienceMs: number;
}

const sdks: readonly Sdk[] = [
  {
    name: 'mcp 1.30.0 (Python)',
    command: [bin('python-v1', 'python'), fileURLToPath(new URL('./client.py', import.meta.url))],
    patienceMs: 900,
  },
  { name: 'go-sdk 1.8.0', command: [built('go', 'client-restart')], patienceMs: 10_000 },
];

const URI = 'note://one';
const UPDATED = 'notifications/resources/updated';
/** A busy machine may start the gateway too late for the client's patience. */
const ATTEMPTS = 8;

interface Said {
  readonly session?: string;
  readonly called?: string;
  readonly subscribed?: string;
  readonly heard?: string;
}

class ToldClient {
  readonly said: Said[] = [];
  readonly #child: ChildProcessWithoutNullStreams;
  #errors = '';

  constructor([command = '', ...args]: readonly string[], url: string) {
    this.#child = spawn(command, [...args, url]);
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.said.push(JSON.parse(line)));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    onTestFinished(() => void this.#child.kill('SIGKILL'));
  }

  tell(order: object): void {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
  }

  /** What it says from now on. */
  async says(fits: (said: Said) => boolean, act: () => void = () => undefined): Promise<Said> {
    const before = this.said.length;
    const found = () => this.said.slice(before).find(fits);
    act();
    await until(() => found() !== undefined, `it says so: ${JSON.stringify(this.said)} ${this.#errors.slice(-2_000)}`);
    return found() as Said;
  }

  call(text: string): Promise<Said> {
    return this.says(
      ({ called }) => called === text,
      () => this.tell({ do: 'call', text }),
    );
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }
}

class RestartedProgram {
  #program: Program | undefined;
  readonly #folder = mkdtempSync(join(tmpdir(), 'bascule-restart-'));
  readonly #port: number;

  constructor(config: object, port: number) {
    this.#port = port;
    writeFileSync(join(this.#folder, 'bascule.yaml'), JSON.stringify({ ...config, store: { dir: 'state' } }));
    onTestFinished(() => rmSync(this.#folder, { recursive: true, force: true }));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/servers/b/mcp`;
  }

  async start(): Promise<void> {
    this.#program = start(['serve', '--port', String(this.#port)], { folder: this.#folder });
    await this.#program.says(/^Bascule /m);
  }

  /** What a client asked for is stored a quarter of a second later. */
  async stored(): Promise<void> {
    const config = configOf(`backends: {}\nstore: { dir: ${join(this.#folder, 'state')} }\n`);
    const storage = new Storage(config, { now: Date.now, after: systemClock.after, warn: () => undefined });
    const { records } = await storage.open();
    const stored = async () => {
      const [key = ''] = await records.keys('session', '', 1);
      return (await records.get('session', key)) ?? '';
    };
    await expect.poll(stored, { timeout: 10_000 }).toContain(URI);
    await storage.close();
  }

  /** Returns how long it was away. */
  async restart(signal: NodeJS.Signals): Promise<number> {
    this.#program?.kill(signal);
    await this.#program?.exited;
    const goneAt = performance.now();
    await this.start();
    return performance.now() - goneAt;
  }
}

describe.each(sdks)('a client of $name', ({ command, patienceMs }) => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'goes on in its session when the gateway was restarted after %s',
    verifies('gateway:legacy:continued'),
    async (signal) => {
      const backend = await launchBackend('v1', 'http');
      onTestFinished(() => backend.close());
      const gateway = new RestartedProgram({ backends: { b: backend.config } }, await freePort());
      await gateway.start();
      let isStreamTried = false;
      for (let attempt = 0; attempt < ATTEMPTS && !isStreamTried; attempt++) {
        const client = new ToldClient(command, gateway.url);
        const { session } = await client.says(({ session: id }) => id !== undefined);
        expect(session).toBeTruthy();
        expect(await client.call('before')).toMatchObject({ session });
        await client.says(
          ({ subscribed }) => subscribed === URI,
          () => client.tell({ do: 'subscribe', uri: URI }),
        );
        const isUpdated = ({ heard }: Said) => heard === UPDATED;
        const update = () => backend.order({ kind: 'update', uri: URI });
        await client.says(isUpdated, update);
        await gateway.stored();
        const awayMs = await gateway.restart(signal);
        expect(await client.call('after')).toMatchObject({ session });
        isStreamTried = awayMs < patienceMs;
        if (isStreamTried) {
          // The stream is back: what the client missed may be of any kind, so the gateway announces the lists.
          await until(() => client.said.some(({ heard }) => heard?.endsWith('list_changed')), 'its stream is back');
          await client.says(isUpdated, update);
        }
        client.end();
      }
      expect(isStreamTried, `the gateway was never back within ${patienceMs} ms`).toBe(true);
    },
  );
});
