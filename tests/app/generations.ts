/** Generations whose parts do nothing but say when they are made and closed. */
import { type BuiltGeneration, buildGeneration, type GenerationParts } from '../../src/app/build-generation.ts';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Backend } from '../../src/exchange/upstream-session.ts';
import type { IdentityServices } from '../../src/identity/create.ts';
import type { RpcService } from '../../src/jsonrpc/ports.ts';
import type { Authorizer } from '../../src/policy/authorizer.ts';

/** The value of a bascule.yaml. */
export function configOf(value: object): Config {
  const readFile = () => JSON.stringify(value);
  return loadConfig({ path: 'bascule.yaml', cwd: '/', env: {}, readFile }).config;
}

/** A backend for each name, and what else the config says. */
export function withBackends(names: readonly string[], more: object = {}): Config {
  const backends = Object.fromEntries(names.map((name) => [name, { url: `http://127.0.0.1:9/${name}` }]));
  return configOf({ backends, ...more });
}

export class Workshop implements GenerationParts {
  readonly made: string[] = [];
  readonly closed: string[] = [];
  readonly makeOAuth: GenerationParts['makeOAuth'] = ({ identity }, before) =>
    before ?? { settings: { identity, isAuthServer: false, backends: {} }, consenting: undefined };
  readonly onRefused = () => undefined;
  makeAuthorizer: GenerationParts['makeAuthorizer'] = () => ({
    ...{
      authorizer: {} as Authorizer,
      rates: undefined,
      unmatchedNames: undefined,
      pins: undefined,
      pinned: undefined,
      recording: undefined,
      audit: undefined,
      decisions: undefined,
    },
  });

  /** By backend. */
  readonly since = new Map<string, number>();
  readonly makeBackend: GenerationParts['makeBackend'] = ({ name }, since) => {
    this.since.set(name, since);
    return this.#part<Backend>(name);
  };
  makeService = ({ name }: { readonly name: string }) => this.#part<RpcService>(name);
  readonly makeIdentity = () => this.#part<IdentityServices>('identity');

  build(config: Config, before?: BuiltGeneration): BuiltGeneration {
    return buildGeneration(config, this, before);
  }

  #part<T extends object>(name: string): T {
    this.made.push(name);
    const part = { name, discover: async () => undefined, close: async () => void this.closed.push(name) };
    return part as object as T;
  }
}
