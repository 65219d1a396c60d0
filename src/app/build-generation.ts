/**
 * From a config to everything that it brings into force. Building has no effect on what is in force; the caller swaps
 * the generation in, and retires the one before.
 */
import type { Config } from '../config/config.ts';
import { ingressOf } from '../downstream/ingress.ts';
import { pathsOf } from '../downstream/routes.ts';
import { Authenticator, type Entrance } from '../identity/authenticator.ts';
import type { IdentityServices } from '../identity/create.ts';
import type { IssuerSettings } from '../identity/settings.ts';
import type { Generation } from '../pipeline/generation.ts';
import { Backends } from '../upstream/backends.ts';
import type { PartMaker } from './generation-parts.ts';
import type { MadeAuthorizer } from './make-authorizer.ts';
import { isSameBackend } from './reload/differences.ts';
import { isSame } from './reload/is-same.ts';
import type { BackendOAuth } from './upstream-oauth.ts';

/** A generation, with what only the next one asks it for. */
export interface BuiltGeneration extends Generation, MadeAuthorizer {
  readonly identity: IdentityServices;
  readonly oauth: BackendOAuth;
}

/** Where clients reach us, known once we listen. */
export interface Listening {
  readonly url: string;
  /** The issuer in this process, where there is one. */
  readonly own: IssuerSettings | undefined;
}

type Parts = 'makeBackend' | 'makeService' | 'makeIdentity' | 'makeAuthorizer' | 'makeOAuth' | 'onRefused';
export type GenerationParts = Pick<PartMaker, Parts>;

/**
 * Takes over from `before` what the config has not changed. Where it throws, it has closed what it made. Until we
 * listen, the authenticator refuses every request: `openAuthenticator` follows.
 */
export function buildGeneration(
  config: Config,
  parts: GenerationParts,
  before?: BuiltGeneration,
  listening?: Listening,
): BuiltGeneration {
  const made: { close(): unknown }[] = [];
  const making = <T extends { close(): unknown }>(one: T): T => {
    made.push(one);
    return one;
  };
  try {
    const ingress = ingressOf(config.endpoints, config.listen);
    const authorizing = parts.makeAuthorizer(config, before);
    const identity =
      before !== undefined && isSame(before.config.identity, config.identity)
        ? before.identity
        : making(parts.makeIdentity(config.identity));
    const { addresses } = ingress;
    const { authorizer } = authorizing;
    const authenticator = new Authenticator(identity, reportTo(parts, { addresses, authorizer }));
    const entered = { config, authenticator, ...ingress };
    if (listening !== undefined) openAuthenticator(entered, listening);
    const backends = config.backends.map(
      (settings) =>
        keptOf(settings, before?.config.backends, isSameBackend, before?.backends) ??
        making(parts.makeBackend(settings, config.generation)),
    );
    const services = config.services.map(
      (settings) =>
        keptOf(settings, before?.config.services, isSame, before?.services) ?? making(parts.makeService(settings)),
    );
    const oauth = parts.makeOAuth(config, before?.oauth);
    return {
      ...entered,
      endpoints: new Map(config.endpoints.map((endpoint) => [endpoint.path, endpoint])),
      backends: new Backends(backends),
      services: new Map(services.map((service) => [service.name, service])),
      identity,
      ...authorizing,
      oauth,
      consenting: oauth.consenting,
    };
  } catch (error) {
    for (const one of made) void Promise.resolve(one.close()).catch(() => undefined);
    throw error;
  }
}

/**
 * Made here, because functions of one scope share what any of them captures: made in `buildGeneration`, this one would
 * keep the generation before, and that one the generation before it.
 */
function reportTo(
  parts: GenerationParts,
  to: Parameters<GenerationParts['onRefused']>[1],
): (refused: Parameters<GenerationParts['onRefused']>[0]) => void {
  return (refused) => parts.onRefused(refused, to);
}

type Entered = Pick<Generation, 'config' | 'routes' | 'authenticator'>;

export function openAuthenticator(entered: Entered, { url, own }: Listening): void {
  entered.authenticator.open(entered.config.identity, entrancesOf(entered), url, own);
}

export function entrancesOf({ config, routes }: Omit<Entered, 'authenticator'>): readonly Entrance[] {
  return config.endpoints.map((endpoint) => ({ paths: pathsOf(routes, endpoint), identity: endpoint.identity }));
}

/** What the previous generation made of the same settings. */
function keptOf<S extends { readonly name: string }, T>(
  settings: S,
  before: readonly S[] = [],
  same: (a: S, b: S) => boolean,
  made: { get(name: string): T | undefined } | undefined,
): T | undefined {
  const was = before.find(({ name }) => name === settings.name);
  return was !== undefined && same(was, settings) ? made?.get(settings.name) : undefined;
}
