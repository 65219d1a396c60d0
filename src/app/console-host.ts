/** Connects the console to the gateway: it records from the start on, and answers once requests are let in. */
import type { Config } from '../config/config.ts';
import type { ApiAnswer, ApiRequest } from '../console/api.ts';
import type { Operators } from '../console/operators.ts';
import type { ConsolePorts } from '../console/ports.ts';
import { ConsoleRecorder } from '../console/recorder.ts';
import { everyRight } from '../console/rights.ts';
import type { Pages } from '../downstream/mounted-paths.ts';
import { Origins } from '../downstream/origin.ts';
import type { SideListener } from '../downstream/side-listener.ts';
import { Failure } from '../errors/failure.ts';
import type { Clock } from '../exchange/clock.ts';
import { basesOf } from '../identity/auth-metadata.ts';
import { paths } from '../oauth/server/paths.ts';
import type { Warn } from '../observe/ports.ts';
import type { RefusalLog } from '../observe/refusals.ts';
import type { Watcher } from '../observe/watchers.ts';
import type { AttemptCounts } from '../store/counts.ts';
import { type Mounted, mount } from '../web/mount.ts';
import type { AuthServerHost } from './auth-server-host.ts';
import { digest } from './digest.ts';

export interface ConsoleOptions {
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  readonly warn: Warn;
  readonly refusals: RefusalLog;
  readonly authority: AuthServerHost;
  readonly attempts: AttemptCounts;
}

type GatewayParts = Omit<ConsolePorts, 'recorder' | 'clock' | 'timeOfDay' | 'startedAt' | 'digest' | 'warn'>;

export class ConsoleHost {
  readonly recorder: ConsoleRecorder;
  readonly #config: Config;
  readonly #options: ConsoleOptions;
  readonly #startedAt: number;
  #ports: ConsolePorts | undefined;
  #operators: Operators | undefined;
  #mounted: Mounted | undefined;
  #listener: SideListener | undefined;
  #url = '';

  constructor(config: Config, options: ConsoleOptions) {
    this.#config = config;
    this.#options = options;
    this.#startedAt = options.timeOfDay();
    const { console: settings, limits } = config;
    this.recorder = new ConsoleRecorder({
      clock: options.clock,
      timeOfDay: options.timeOfDay,
      isOn: settings !== undefined,
      calls: limits.consoleCalls,
      bodyBytes: settings?.record === 'bodies' ? limits.consoleBodyBytes : undefined,
    });
  }

  /** Without a console only the states of backends are watched, which costs nothing with a call. */
  get watcher(): Watcher {
    const { recorder } = this;
    return recorder.isOn ? recorder : { made: (backend) => recorder.made(backend) };
  }

  /** Nothing is served before `open`, and nothing here where the console has an address of its own. */
  readonly pages: Pages = {
    owns: (path) => this.#listener === undefined && this.#mounted?.owns(path) === true,
    handle: async (req, res) => this.#mounted?.handle(req, res),
  };

  /** Called once the gateway is made. */
  connect(parts: GatewayParts): void {
    const { clock, timeOfDay, warn } = this.#options;
    const { recorder } = this;
    this.#ports = { ...parts, clock, timeOfDay, warn, recorder, startedAt: this.#startedAt, digest };
  }

  /** Called once the address that we listen on is known. Loads the pages, where the config has a console. */
  async open(listening: string): Promise<void> {
    const { console: settings, listen, identity, authServer } = this.#config;
    if (settings === undefined) return;
    const [{ consolePages }, { Operators: OperatorBook }, { listenForConsole }] = await Promise.all([
      import('../console/console-pages.ts'),
      import('../console/operators.ts'),
      import('../console/listener.ts'),
    ]);
    const ports = this.#connected;
    const { warn, refusals, authority, timeOfDay, attempts } = this.#options;
    const [base = listening] = basesOf(identity, listening);
    if (settings.listen !== undefined) {
      const own = {
        listen: settings.listen,
        origins: new Origins({ ...listen, host: settings.listen.host }),
        hostRefused: (name: string) =>
          refusals.tell({ failure: new Failure('host_not_allowed'), name, path: '/console' }),
        fault: (error: unknown) => warn('the listener of the console has a fault', { cause: String(error) }),
      };
      this.#listener = await listenForConsole(own, () => this.#mounted).catch((error: unknown) => {
        const { code = 'unknown reason' } = error as { readonly code?: string };
        warn('the console cannot listen at its address: there is no console', { ...settings.listen, code });
        return undefined;
      });
      if (this.#listener === undefined) return;
    }
    this.#url = this.#listener?.url ?? base;
    const operators = new OperatorBook({
      currentGeneration: ports.currentGeneration,
      now: timeOfDay,
      attempts,
      publicUrl: this.#url,
      refused: (failure, address) => refusals.tell({ failure, address, path: '/console' }),
      userOf: (cookies) => authority.userOf(cookies),
    });
    this.#operators = operators;
    const isSameAddress = this.#listener === undefined && authServer !== undefined;
    const signInUrl = isSameAddress ? `${paths.signIn}?return=${encodeURIComponent('/console')}` : undefined;
    const signOutUrl = isSameAddress ? paths.signOut : undefined;
    this.#mounted = mount(consolePages({ ports, operators, signInUrl, signOutUrl }), {
      clientAddress: (req) => ports.currentGeneration.now.addresses.of(req),
      broken: (error) => {
        // Only the name: the message may contain what the browser sent.
        warn('a page of the console failed', { error: error instanceof Error ? error.name : typeof error });
      },
    });
  }

  /** Undefined where there is no console, and until it is open. */
  get address(): string | undefined {
    return this.#operators === undefined ? undefined : `${this.#url}/console`;
  }

  /** Where the console is; for the person at this machine a link that works once. Undefined where there is none. */
  link(): string | undefined {
    const { address } = this;
    return this.#operators?.isPersonal === true ? `${address}#enter=${this.#operators.newLink()}` : address;
  }

  /** For the control socket, which only the user who runs the gateway can open: only that user gets a link. */
  async operate(request: Omit<ApiRequest, 'operator'>): Promise<ApiAnswer> {
    if (request.method === 'POST' && request.path === '/link') return { status: 200, body: { url: this.link() } };
    const ports = this.#connected;
    const principal = ports.currentGeneration.now.authenticator.local;
    const { answerApi } = await import('../console/api.ts');
    return answerApi(ports, { ...request, operator: { principal, credentials: 'local', rights: everyRight } });
  }

  async close(): Promise<void> {
    await this.#listener?.close();
  }

  get #connected(): ConsolePorts {
    if (this.#ports === undefined) throw new TypeError('the console is not connected');
    return this.#ports;
  }
}
