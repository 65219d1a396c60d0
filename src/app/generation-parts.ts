/** Makes the parts of a generation: backends, services, identity and authorizer, with what all generations share. */
import type { BackendConfig, Config, ServiceConfig } from '../config/config.ts';
import type { Limits } from '../config/limits.ts';
import type { Backend, BackendState } from '../exchange/upstream-session.ts';
import type { RefusedEntry } from '../identity/authenticator.ts';
import { createIdentity, type IdentityServices } from '../identity/create.ts';
import type { Fetch } from '../identity/documents.ts';
import { shownPrincipal } from '../identity/principal.ts';
import type { RpcService } from '../jsonrpc/ports.ts';
import { HttpRpcService } from '../jsonrpc/service.ts';
import { logBackendState } from '../observe/backend-states.ts';
import { backendNotes } from '../observe/event-counts.ts';
import type { WallClock } from '../observe/ports.ts';
import type { Traces } from '../observe/traces/open.ts';
import { callObserver } from '../observe/watchers.ts';
import type { WireTrace } from '../observe/wire-trace.ts';
import type { Generation } from '../pipeline/generation.ts';
import { clientCredentials } from '../upstream/client-credentials.ts';
import { type CreateOptions, createBackend, type PresentedTo } from '../upstream/create-backend.ts';
import { ProbeSlots } from '../upstream/probe-slots.ts';
import { about } from '../wire/about.ts';
import { keyFileAt } from './key-files.ts';
import { type AuthorizerOptions, type MadeAuthorizer, makeAuthorizer } from './make-authorizer.ts';
import type { BackendOAuth, UpstreamOAuth } from './upstream-oauth.ts';

export interface PartMakerOptions extends AuthorizerOptions {
  readonly limits: Limits;
  readonly time: WallClock;
  readonly fetch: Fetch;
  readonly oauth: UpstreamOAuth;
  /** For the processes and the HTTP requests of backends: which gateways they descend from. */
  readonly descent: Required<Pick<CreateOptions, 'via' | 'environment'>>;
  readonly wireTrace: WireTrace | undefined;
  readonly traces: Traces | undefined;
  readonly onBackendState: ((name: string, state: BackendState) => void) | undefined;
}

export class PartMaker {
  readonly #options: PartMakerOptions;
  readonly #slots: ProbeSlots;

  constructor(options: PartMakerOptions) {
    this.#options = options;
    this.#slots = new ProbeSlots(options.limits.probesAtOnce, options.clock);
  }

  /** `since`: the first generation that has this backend. */
  makeBackend(settings: BackendConfig, since: number): Backend {
    const { name } = settings;
    const { limits, clock, log, counters, descent, watchers, wireTrace, traces } = this.#options;
    const { onBackendState = (of, state) => logBackendState(log, of, state) } = this.#options;
    const tracer = traces?.backend(settings);
    const calls = callObserver(tracer === undefined ? watchers : [...watchers, { calls: () => tracer }], settings);
    const notes = { ...backendNotes(name, log, counters), calls, tracer };
    const presented = presentedTo(settings, this.#options.oauth);
    const backend = createBackend(settings, {
      ...{ limits, clock, version: about.version, notes, slots: this.#slots, since, wireTrace, ...descent },
      ...(presented && { presented }),
    });
    backend.onChange((state) => onBackendState(name, state));
    for (const watcher of watchers) watcher.made?.(backend);
    return backend;
  }

  makeService(settings: ServiceConfig): RpcService {
    const { limits, clock, log } = this.#options;
    return new HttpRpcService(settings, {
      limits,
      clock,
      turned: (down) =>
        log.info(
          { service: settings.name, ...(down && { reason: down.reason }) },
          down ? 'a service is down' : 'a service is back',
        ),
    });
  }

  makeIdentity(settings: Config['identity']): IdentityServices {
    return createIdentity(settings, { ...this.#options, keyFileAt });
  }

  makeOAuth(config: Config, before: BackendOAuth | undefined): BackendOAuth {
    return this.#options.oauth.of(config, before);
  }

  makeAuthorizer(config: Config, before: MadeAuthorizer | undefined): MadeAuthorizer {
    return makeAuthorizer(config, this.#options, before);
  }

  onRefused(
    { path, failure, principal, credentials }: RefusedEntry,
    { addresses, authorizer }: Pick<Generation, 'addresses' | 'authorizer'>,
  ): void {
    const address = credentials === 'local' ? undefined : addresses.of(credentials);
    const who = principal && shownPrincipal(principal);
    this.#options.refusals.tell({ failure, endpoint: path, address, ...(who && { principal: who }) });
    authorizer.trail.early({ reason: failure.reason, endpoint: path, principal, address });
  }
}

function presentedTo(backend: BackendConfig, oauth: UpstreamOAuth): PresentedTo | undefined {
  const isClients = backend.kind === 'http' && backend.credentials === 'client';
  return isClients ? { kind: 'personal', credentialProviderFor: clientCredentials } : oauth.presentedTo(backend);
}
