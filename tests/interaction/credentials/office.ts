/** A gateway with keys for its people, before one backend that wants consent and one that does not. */
import { onTestFinished } from 'vitest';
import type { Records } from '../../../src/store/ports.ts';
import type { Era } from '../../../src/wire/revisions.ts';
import { MemoryRecords } from '../../kit/memory-records.ts';
import type { Headers } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { eras } from '../harness/eras.ts';
import { type ConfigValue, launchGateway, type Ports, startGateway, type TestGateway } from '../harness/gateway.ts';
import { modernBackend, type Script, type ScriptedBackend } from '../harness/http-backend.ts';
import { type Caller, caller, type Shown } from './caller.ts';
import { GuardedBackend, oauth } from './guarded-backend.ts';
import { Person } from './person.ts';

const doors = ['single', 'merged'] as const;
export type Door = (typeof doors)[number];

export interface Row {
  readonly client: Era;
  readonly backend: Era;
  readonly door: Door;
}

export const rows: readonly Row[] = eras.flatMap((client) =>
  eras.flatMap((backend) => doors.map((door) => ({ client, backend, door }))),
);

export interface OfficeOptions {
  readonly backend: Era;
  /** Given the address of the backend's authorization server. */
  readonly auth?: ConfigValue | ((issuer: string) => ConfigValue);
  readonly script?: Script;
  readonly limits?: Readonly<Record<string, number>>;
  readonly more?: ConfigValue;
  /** Further backends. */
  readonly beside?: ConfigValue;
  readonly ports?: Ports;
}

export interface Employee {
  readonly key: string;
  readonly credentials: Headers;
  readonly person: Person;
}

/** Everybody who has a key. */
export const staff = ['ada', 'bob', 'cyd', 'dan'] as const;

/** What the backend without a lock has. */
const free: Script = {
  'tools/list': (turn) => {
    const tools = [{ name: 'free', inputSchema: { type: 'object' } }];
    turn.result({ tools, resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' });
  },
  'tools/call': (turn) => turn.result({ content: [{ type: 'text', text: 'free' }], resultType: 'complete' }),
};

export class Office {
  readonly backend: GuardedBackend;
  readonly other: ScriptedBackend;
  readonly records: Records;
  gateway: TestGateway;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #config: ConfigValue;
  readonly #ports: Ports;

  private constructor(
    parts: Pick<Office, 'backend' | 'other' | 'records' | 'gateway'>,
    keys: ReadonlyMap<string, string>,
    config: ConfigValue,
    ports: Ports,
  ) {
    this.backend = parts.backend;
    this.other = parts.other;
    this.records = parts.records;
    this.gateway = parts.gateway;
    this.#keys = keys;
    this.#config = config;
    this.#ports = ports;
  }

  static async open(options: OfficeOptions): Promise<Office> {
    const { auth = {}, script = {}, limits, more = {}, beside = {} } = options;
    const backend = await GuardedBackend.open({ era: options.backend, script });
    const other = await modernBackend(free);
    const given = typeof auth === 'function' ? auth(backend.issuer.issuer) : auth;
    const ring = keyRing();
    const keys = new Map<string, string>(staff.map((name) => [name, ring.make(name)]));
    const config = {
      backends: {
        files: { url: backend.url, auth: { ...oauth, ...given } },
        other: { url: other.url },
        ...beside,
      },
      identity: { keys: { file: ring.path } },
      ...(limits && { limits }),
      ...more,
    };
    const records = options.ports?.records ?? new MemoryRecords(options.ports?.timeOfDay ?? Date.now);
    const ports = { ...options.ports, records: kept(records) };
    const gateway = await startGateway(config, ports);
    return new Office({ backend, other, records, gateway }, keys, config, ports);
  }

  url(door: Door): string {
    return this.gateway.url(door === 'single' ? 'files' : undefined);
  }

  /** The name of the backend's tool at that endpoint. */
  tool(door: Door): string {
    return door === 'single' ? 'work' : 'files__work';
  }

  employee(name: (typeof staff)[number]): Employee {
    const key = this.#keys.get(name) ?? '';
    return { key, credentials: bearer(key), person: new Person(name, this.gateway.origin, key) };
  }

  /** A client of a user who consents to everything immediately. */
  client(
    row: Pick<Row, 'client' | 'door'>,
    { person, credentials }: Employee,
    shown?: Shown | 'never',
  ): Promise<Caller> {
    const agrees: Shown = async (link) => {
      const page = await person.agree(link, this.backend);
      if (page.status !== 200) throw new Error(`${page.url.pathname}: ${page.status} ${page.text}`);
      return 'accept';
    };
    return caller({
      era: row.client,
      url: this.url(row.door),
      credentials,
      ...(shown === 'never' ? {} : { shown: shown ?? agrees }),
    });
  }

  /** Applies the same config with something more. */
  reload(more: object): void {
    this.gateway.reload({ ...this.#config, ...more });
  }

  /** Everything in memory is lost; the records and the address stay. */
  async restart(): Promise<void> {
    const port = Number(new URL(this.gateway.origin).port);
    await this.gateway.close(0);
    const gateway = await launchGateway(this.#config, this.#ports, port);
    onTestFinished(() => gateway.close(0));
    this.gateway = gateway;
  }
}

/** A gateway closes what it was given; these are for the next one, too. */
function kept(records: Records): Records {
  return new Proxy(records, {
    get: (target, name) => {
      if (name === 'close') return async () => undefined;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

export const done = { result: { content: [{ type: 'text', text: 'done' }] } };
