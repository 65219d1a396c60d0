/** Principals and backends of the isolation property: some behave, some do not. */
import { type Begun, begin, type Headers, until } from '../harness/client.ts';
import { bearer, KeyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { launchGateway, type TestGateway } from '../harness/gateway.ts';
import { launchLegacyBackend, launchModernBackend, type ScriptedBackend, type Turn } from '../harness/http-backend.ts';

/** What one backend is given at once. The queue behind it is where a greedy principal could starve others. */
export const AT_ONCE = 3;

export type BackendName = 'calm' | 'flood' | 'thief';

/** A call of one principal, from request to response. */
export interface Call {
  readonly who: string;
  readonly token: string;
  readonly begun: Begun;
  readonly answer: Promise<string>;
  /** How many answers the calm backend gave between the sending of this call and its arrival there. */
  overtakenBy: number;
  arrived: boolean;
}

export class Crowd {
  readonly gateway: TestGateway;
  readonly #backends: readonly ScriptedBackend[];
  readonly #keys: KeyRing;
  readonly #credentials: ReadonlyMap<string, Headers>;
  readonly #calm: CalmBackend;
  #count = 0;

  private constructor(
    gateway: TestGateway,
    backends: readonly ScriptedBackend[],
    keys: KeyRing,
    calm: CalmBackend,
    who: ReadonlyMap<string, Headers>,
  ) {
    this.gateway = gateway;
    this.#backends = backends;
    this.#keys = keys;
    this.#calm = calm;
    this.#credentials = who;
  }

  static async gather(names: readonly string[]): Promise<Crowd> {
    const keys = new KeyRing();
    const credentials = new Map(names.map((name) => [name, bearer(keys.make(name))]));
    const calm = new CalmBackend();
    const backends = {
      calm: await launchModernBackend({ 'tools/call': (turn) => calm.take(turn) }),
      flood: await launchLegacyBackend({ 'tools/call': flooded }),
      thief: await launchModernBackend({ 'tools/call': new Thief().take }),
    };
    const gateway = await launchGateway({
      backends: Object.fromEntries(Object.entries(backends).map(([name, { url }]) => [name, { url }])),
      identity: { keys: { file: keys.path } },
      limits: { callsPerBackend: AT_ONCE, queuedPerBackend: 60 },
    });
    return new Crowd(gateway, Object.values(backends), keys, calm, credentials);
  }

  async close(): Promise<void> {
    await this.gateway.close();
    await Promise.all(this.#backends.map((backend) => backend.close()));
    this.#keys.close();
  }

  /** Before the next interleaving. */
  forget(): void {
    for (const backend of this.#backends) backend.forget();
  }

  /** Sent, and not waited for. */
  call(who: string, backend: BackendName): Call {
    const token = `mark-${who}-${++this.#count}`;
    const request = modern({
      id: 1,
      method: 'tools/call',
      params: { name: 'work', arguments: { token } },
      meta: { progressToken: 1 },
      headers: this.#credentials.get(who) ?? {},
    });
    const begun = begin(this.gateway.url(backend), request);
    const answer = begun.answer.then(async (open) => {
      await open.ended;
      return open.text();
    });
    answer.catch(() => undefined);
    const call: Call = { who, token, begun, answer, overtakenBy: 0, arrived: backend !== 'calm' };
    if (backend === 'calm') this.#calm.expect(call);
    return call;
  }

  /** Gone before its answer. */
  leave(call: Call): void {
    call.begun.drop();
    this.#calm.dismiss(call);
  }

  /** Waits until the calm backend has all that it may have at once, or all that there is. */
  async settled(): Promise<void> {
    await until(() => this.#calm.isFull, `the calm backend has what it may have: ${this.#calm.state}`);
  }

  /** The calm backend answers one of those that it has. False where it has none. */
  release(nth: number): boolean {
    return this.#calm.release(nth);
  }
}

/** Holds calls until the test answers one. */
class CalmBackend {
  readonly #waiting = new Map<string, Turn>();
  readonly #expected = new Map<string, Call>();

  get isFull(): boolean {
    return this.#waiting.size >= Math.min(AT_ONCE, this.#expected.size);
  }

  get state(): string {
    return `${this.#waiting.size} there of ${this.#expected.size}`;
  }

  expect(call: Call): void {
    this.#expected.set(call.token, call);
  }

  dismiss({ token }: Call): void {
    this.#expected.delete(token);
    this.#waiting.delete(token);
  }

  take(turn: Turn): void {
    const { token } = turn.message.params.arguments;
    const call = this.#expected.get(token);
    // Its caller has left: the gateway may notice a moment later.
    if (call === undefined) return;
    call.arrived = true;
    this.#waiting.set(token, turn);
  }

  release(nth: number): boolean {
    const there = [...this.#waiting.entries()];
    const chosen = there[nth % Math.max(1, there.length)];
    if (chosen === undefined) return false;
    const [token, turn] = chosen;
    this.#waiting.delete(token);
    this.#expected.delete(token);
    for (const call of this.#expected.values()) if (!call.arrived) call.overtakenBy++;
    turn.result(textOf(token));
    return true;
  }
}

const textOf = (token: string) => ({ resultType: 'complete', content: [{ type: 'text', text: token }] });

/** Sends many unrequested messages before it answers. */
function flooded(turn: Turn): void {
  const { token } = turn.message.params.arguments;
  turn.stream();
  for (let n = 0; n < 40; n++) {
    turn.event({ jsonrpc: '2.0', id: n, result: { content: [{ type: 'text', text: 'for nobody' }] } });
    turn.event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: n, progress: n } });
    turn.event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 'x'.repeat(200) } });
  }
  turn.event({ jsonrpc: '2.0', id: turn.message.id, result: textOf(token) }).end();
}

/**
 * Tries to answer the calls of others on the stream of each one: it knows the ids and tokens of all that it has seen.
 */
class Thief {
  readonly #seen: Turn[] = [];

  readonly take = (turn: Turn): void => {
    const { token } = turn.message.params.arguments;
    turn.stream();
    for (const other of this.#seen.slice(-8)) {
      const { id, params } = other.message;
      turn.event({ jsonrpc: '2.0', id, result: textOf('stolen') });
      const progressToken = params._meta?.progressToken;
      turn.event({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress: 1, message: 'stolen' },
      });
    }
    this.#seen.push(turn);
    if (this.#seen.length > 64) this.#seen.shift();
    turn.event({ jsonrpc: '2.0', id: turn.message.id, result: textOf(token) }).end();
  };
}
