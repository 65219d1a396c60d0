/** Types for the part of oidc-provider that we use: the library brings none of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

  /** The storage of one model. */
  export interface Adapter {
    upsert(id: string, payload: Payload, expiresIn?: number): Promise<void>;
    find(id: string): Promise<Payload | undefined>;
    findByUid(uid: string): Promise<Payload | undefined>;
    findByUserCode(userCode: string): Promise<Payload | undefined>;
    consume(id: string): Promise<void>;
    destroy(id: string): Promise<void>;
    revokeByGrantId(grantId: string): Promise<void>;
  }
  export type Payload = Record<string, unknown>;

  export interface Client {
    readonly clientId: string;
    readonly clientName?: string;
    readonly clientUri?: string;
    readonly redirectUris: readonly string[];
    readonly clientIdMetadataDocument?: boolean;
    grantTypeAllowed(name: string): boolean;
  }

  export interface Interaction {
    readonly jti: string;
    readonly uid: string;
    readonly prompt: { readonly name: string; readonly details: Readonly<Record<string, unknown>> };
    readonly params: Readonly<Record<string, unknown>>;
    readonly session?: { readonly accountId?: string; readonly uid?: string };
    readonly grantId?: string;
  }

  export interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  export interface Session {
    readonly accountId?: string;
    readonly loginTs?: number;
    readonly uid: string;
    readonly id: string;
    loginAccount(details: { readonly accountId: string; readonly amr: readonly string[] }): void;
    save(seconds: number): Promise<string>;
    destroy(): Promise<void>;
  }

  export interface KoaContext {
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly cookies: {
      get(name: string, options?: object): string | undefined;
      set(name: string, value: string, options?: object): void;
    };
    readonly oidc: {
      readonly client?: Client;
      readonly params?: Readonly<Record<string, unknown>>;
      readonly entities: Readonly<Record<string, unknown>>;
    };
    status: number;
    type: string;
    body: unknown;
    set(headers: Readonly<Record<string, string>>): void;
  }

  export class Provider {
    constructor(issuer: string, configuration: object);
    /** The context of the request that is being served. */
    static readonly ctx: KoaContext | undefined;
    proxy: boolean;
    callback(): RequestListener;
    on(event: string, listener: (...told: readonly unknown[]) => void): void;
    interactionDetails(req: IncomingMessage, res: ServerResponse): Promise<Interaction>;
    interactionFinished(
      req: IncomingMessage,
      res: ServerResponse,
      result: object,
      options?: { readonly mergeWithLastSubmission?: boolean },
    ): Promise<void>;
    createContext(req: IncomingMessage, res: ServerResponse): KoaContext;
    cookieName(type: 'session' | 'interaction' | 'resume'): string;
    readonly Client: { find(id: string): Promise<Client | undefined> };
    readonly Grant: {
      new (payload: { readonly accountId: string; readonly clientId: string }): Grant;
      find(id: string): Promise<Grant | undefined>;
    };
    readonly Session: {
      new (): Session;
      find(id: string): Promise<Session | undefined>;
      findByUid(uid: string): Promise<Session | undefined>;
    };
  }

  interface PolicyContext {
    readonly oidc: {
      readonly session: { readonly accountId?: string; readonly loginTs?: number };
      readonly result?: { readonly login?: object };
    };
  }
  export class Check {
    static readonly REQUEST_PROMPT: boolean;
    static readonly NO_NEED_TO_PROMPT: boolean;
    constructor(reason: string, description: string, check: (context: PolicyContext) => boolean);
  }
  export const interactionPolicy: {
    base(): { get(name: string): { readonly checks: { add(check: Check): void } } | undefined };
    readonly Check: typeof Check;
  };

  export class OIDCProviderError extends Error {
    readonly error: string;
    readonly error_description?: string;
    readonly statusCode: number;
    readonly expose: boolean;
  }
  type Told = new (description?: string) => OIDCProviderError;
  export const errors: {
    readonly OIDCProviderError: typeof OIDCProviderError;
    readonly InvalidClientMetadata: Told;
    readonly InvalidGrant: Told;
    readonly InvalidTarget: Told;
  };
}
