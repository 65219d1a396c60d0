/** What a modern client can send. Nothing is kept between two messages, except pending calls. */
import { isMerged } from '../catalog/name-resolver.ts';
import { Failure } from '../errors/failure.ts';
import { whenKnown } from '../exchange/on-fulfilled.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import type { Principal } from '../identity/principal.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import { denyBatch } from '../policy/profile.ts';
import { resultBytes } from '../wire/compose.ts';
import { admitModern } from './admit.ts';
import { authorizeForAll, authorizeOneWay, onlyBackend } from './authorize.ts';
import type { ConfigChange } from './config-change.ts';
import type { RequestContext } from './context.ts';
import { discoverResult } from './handshake.ts';
import { tellLeftOut } from './left-out-extensions.ts';
import { discoverAll } from './merged.ts';
import { ModernListens } from './modern-listens.ts';
import { withConsentPage } from './pending-consent.ts';
import type { Pipeline } from './pipeline.ts';

export class ModernFront {
  readonly #pipeline: Pipeline;
  readonly #listens: ModernListens;

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
    this.#listens = new ModernListens(pipeline);
  }

  receive(context: RequestContext): void | Promise<void> {
    const { message, endpoint, reply } = context;
    switch (message.kind) {
      case 'batch':
        throw denyBatch(endpoint.profile, undefined) ?? new Failure('unsupported_mcp_batch');
      case 'result':
      case 'error':
        throw new Failure('response_not_expected');
      case 'notification':
        // Over HTTP no modern notification has a meaning: a client cancels by closing the stream.
        return whenKnown(authorizeOneWay(context, undefined, message), () => reply.accepted());
      case 'request':
        admitModern(context, message);
        if (context.row.method === 'server/discover') return this.#discover(context);
        if (context.row.longLived) return this.#listens.receive(context);
        this.#pipeline.request(context);
    }
  }

  endSubscriptions(): void {
    this.#listens.endAll();
  }

  revoke(isMeant: (principal: Principal) => boolean, failure: Failure): number {
    return this.#listens.revoke(isMeant, failure);
  }

  renewed(change: ConfigChange): void {
    this.#listens.renewed(change);
  }

  async #discover(context: RequestContext): Promise<void> {
    const { endpoint, principal, authorizer, row, request, reply, client } = context;
    const { shared } = this.#pipeline;
    const { work } = shared;
    const all = () => discoverAll(shared, endpoint, principal);
    let authorization: Authorization | undefined;
    let outcome: 'result' | 'error' = 'error';
    work.begin();
    try {
      authorization = await authorizeForAll(context, row, client.revision, request);
      const finding = isMerged(endpoint)
        ? all()
        : this.#discoverOnly(onlyBackend(endpoint), principal).catch((error: unknown) => {
            // What the backend offers is known only after consent. A client that gets an error here could not be asked
            // for consent.
            if (error instanceof Failure && error.reason === 'consent_needed') return all();
            throw error;
          });
      const found = await finding;
      outcome = 'result';
      tellLeftOut(shared.warn, endpoint, found);
      // Lists that differ by principal must not be cached for everybody.
      const discovery = authorizer.visibility.isShaping
        ? { ...found, rest: { ...found.rest, cacheScope: 'private' } }
        : found;
      reply.respond(resultBytes(request.id.raw, discoverResult(client.revision, endpoint, discovery)));
    } finally {
      work.end();
      authorization?.over?.({ outcome });
    }
  }

  async #discoverOnly(backend: string, principal: Principal): Promise<Discovery> {
    const { shared } = this.#pipeline;
    return withConsentPage(shared, backend, principal, await shared.upstreams.discover(backend, principal));
  }
}
