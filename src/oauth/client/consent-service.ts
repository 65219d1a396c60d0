/**
 * Consents, for the pages that complete them and for the calls that wait for them. They are stored in Records, so a
 * restart between link and redirect loses nothing.
 */
import * as oauth from 'oauth4webapi';
import { Failure } from '../../errors/failure.ts';
import type { OAuthBackend } from './acquire.ts';
import { type Consent, type ConsentStore, consentIn, type Flow } from './consent-store.ts';
import { credentialLimits } from './limits.ts';
import type { CredentialPorts } from './ports.ts';
import { checkRedirect } from './redirect.ts';
import type { Registrations } from './registration.ts';
import { aMoment } from './single-flight.ts';
import { asClient, askForToken, asServer, type Granted, GrantRefused } from './token-endpoint.ts';
import { type TokenShelf, tokensOf } from './tokens.ts';

export interface ConsentServicePorts {
  readonly book: ConsentStore;
  readonly shelf: TokenShelf;
  readonly registrations: Registrations;
  readonly outside: Pick<CredentialPorts, 'bus' | 'time'>;
  /** Undefined if the backend is no longer configured, or has a different URL. */
  backendOf(flow: Flow): OAuthBackend | undefined;
  /** Tells all replicas that tokens of this account were stored. */
  announce(account: string): Promise<void>;
}

export class ConsentService {
  readonly #ports: ConsentServicePorts;

  constructor(ports: ConsentServicePorts) {
    this.#ports = ports;
  }

  /** Undefined if the consent is unknown, used or expired. */
  async find(id: string): Promise<Consent | undefined> {
    const flow = await this.#ports.book.find(id);
    return flow === undefined || this.#ports.backendOf(flow) === undefined ? undefined : consentIn(flow);
  }

  /** The URL to send the person to. Rejects with `consent_unknown`. */
  async authorizationUrl(id: string): Promise<string> {
    return (await this.#known(id)).authorizationUrl;
  }

  /**
   * Handles the redirect's parameters. Rejects with a Failure: `consent_unknown`, `consent_invalid` (the consent stays
   * open), `consent_refused`, or the authorization server's error for the code.
   */
  async complete(id: string, parameters: URLSearchParams): Promise<Consent> {
    const brought = checkRedirect(await this.#known(id), parameters);
    const flow = await this.#ports.book.take(id);
    if (flow === undefined) throw unknown();
    const failure = brought instanceof Failure ? brought : await this.#redeem(flow, brought);
    await this.#ports.book.end(id, failure);
    await this.#ports.outside.bus.publish(topicOf(id), '');
    if (failure !== undefined) throw failure;
    return consentIn(flow);
  }

  /** Never rejects. Resolves with `consent_pending` on timeout. */
  async waitFor(id: string, ms: number, signal?: AbortSignal): Promise<'done' | Failure> {
    const { time } = this.#ports.outside;
    const deadline = time.now() + ms;
    for (;;) {
      const ms = Math.min(credentialLimits.consentPollMs, deadline - time.now());
      const moment = aMoment(this.#ports.outside, topicOf(id), ms, signal);
      const outcome = await this.#ports.book.outcome(id).catch(() => undefined);
      if (outcome !== undefined || signal?.aborted === true || time.now() >= deadline) {
        moment.stop();
        return outcome ?? new Failure('consent_pending');
      }
      await moment.over;
    }
  }

  async #known(id: string): Promise<Flow> {
    const flow = await this.#ports.book.find(id);
    if (flow === undefined || this.#ports.backendOf(flow) === undefined) throw unknown();
    return flow;
  }

  /** Resolves with the failure, if any. The flow is consumed either way: a code is good for one request. */
  async #redeem(flow: Flow, brought: URLSearchParams): Promise<Failure | undefined> {
    const { shelf, outside, announce } = this.#ports;
    try {
      const granted = await this.#ask(flow, brought);
      await shelf.put(flow.account, tokensOf(granted, flow, outside.time.now()));
      await announce(flow.account);
      return undefined;
    } catch (error) {
      if (error instanceof GrantRefused) return this.#refused(flow, error);
      return error instanceof Failure ? error : new Failure('internal_error');
    }
  }

  async #ask(flow: Flow, brought: URLSearchParams): Promise<Granted> {
    const backend = this.#ports.backendOf(flow);
    if (backend === undefined) throw unknown();
    const { server, client, redirectUri, verifier, resource } = flow;
    const secrets = [verifier, brought.get('code') ?? ''];
    const { guardedFetch, settings } = backend;
    return askForToken({ guardedFetch, auth: settings.auth, server, client }, secrets, (proof, options) =>
      oauth.authorizationCodeGrantRequest(asServer(server), asClient(client), proof, brought, redirectUri, verifier, {
        ...options,
        additionalParameters: { resource },
      }),
    );
  }

  async #refused({ server, client }: Flow, refusal: GrantRefused): Promise<Failure> {
    if (refusal.code === 'invalid_client' && client.kind === 'registered') {
      await this.#ports.registrations.forget(server.issuer, client);
    }
    return refusal.failure();
  }
}

function topicOf(id: string): string {
  return `credentials/consent/${id}`;
}

function unknown(): Failure {
  return new Failure('consent_unknown');
}
