/**
 * Endpoints of JSON-RPC services that are not MCP. Same stages, same order, without MCP's own rules:
 *
 *   downstream -> authenticate -> profile -> strict parsing -> scopes -> authorize -> service
 *
 * What passes is sent on byte for byte, a batch as one batch. What fails a stage never reaches the service.
 */
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import { rpcAsked } from '../exchange/asked.ts';
import type { SharedServices } from '../pipeline/services.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import type { Batch } from '../wire/message.ts';
import { type RpcMessage, readRpcBatch } from '../wire/rpc.ts';
import { decideAll } from './authorize-all.ts';
import type { RpcArrival, RpcGate, RpcOutgoing } from './ports.ts';
import { RpcRelay, refuseAll } from './relay.ts';

export type RpcFrontServices = Pick<
  SharedServices,
  'limits' | 'services' | 'authenticator' | 'currentGeneration' | 'work' | 'fault'
>;

/** An arrival, with the authorizer of the generation that decides everything about it. */
interface RpcContext extends RpcArrival {
  readonly authorizer: Authorizer;
}

export class RpcFront implements RpcGate {
  readonly #shared: RpcFrontServices;
  readonly #relays = new Set<RpcRelay>();
  #draining = false;

  constructor(shared: RpcFrontServices) {
    this.#shared = shared;
  }

  receive(arrival: RpcArrival): void {
    const { sender, message, reply } = arrival;
    const { path } = arrival.endpoint;
    const asOf = this.#shared.currentGeneration.now;
    // The config was reloaded while the body was read: start again, so that one generation decides all of the request.
    if (sender.asOf !== asOf) {
      void this.#again(arrival);
      return;
    }
    // `arrival.endpoint` belongs to the generation under which the headers came.
    const endpoint = asOf.endpoints.get(path);
    if (endpoint?.protocol !== 'json-rpc') {
      refuseAll(reply, new Failure('path_not_found'), message.kind === 'batch', idsOf(unreadOf(message)));
      return;
    }
    this.#enter({ endpoint, authorizer: asOf.authorizer, sender, message, reply });
  }

  async #again(arrival: RpcArrival): Promise<void> {
    const { message, reply, endpoint } = arrival;
    const { credentials } = arrival.sender;
    const { authenticator, currentGeneration } = this.#shared;
    const asOf = currentGeneration.now;
    const principal = await authenticator.identify(endpoint.path, credentials);
    if (!(principal instanceof Failure)) this.receive({ ...arrival, sender: { principal, credentials, asOf } });
    else {
      const told = authenticator.told(endpoint.path, principal, credentials, rpcAsked(message));
      refuseAll(reply, told, message.kind === 'batch', idsOf(unreadOf(message)));
    }
  }

  /** Takes no new work. */
  drain(): void {
    this.#draining = true;
  }

  abort(failure: Failure): void {
    for (const relay of [...this.#relays]) relay.abort(failure);
  }

  #enter(turn: RpcContext): void {
    const { endpoint, authorizer, message, reply, sender } = turn;
    let messages = unreadOf(message);
    try {
      if (message.kind === 'batch') messages = this.#membersOf(endpoint, message);
      this.#pass(turn, messages);
    } catch (error) {
      const failure = this.#shared.fault(error);
      authorizer.refused({ principal: sender.principal, endpoint }, failure);
      refuseAll(reply, failure, message.kind === 'batch', idsOf(messages));
    }
  }

  #membersOf({ profile }: Endpoint, batch: Batch): readonly RpcMessage[] {
    if (profile.batches === 'deny') throw new Failure('unsupported_batch');
    const { jsonDepth, batchMembers } = this.#shared.limits;
    try {
      return readRpcBatch(batch, { depth: profile.jsonDepth ?? jsonDepth, members: batchMembers });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      // Drop the id of the member: the whole batch is refused, and a response to one member would not say so.
      const { reason, message, data, cause } = error;
      throw new Failure(reason, { message, cause, ...(data && { data }) });
    }
  }

  #pass({ endpoint, authorizer, sender, message, reply }: RpcContext, given: readonly RpcMessage[]): void {
    const { authenticator, services, work, fault } = this.#shared;
    const { principal, credentials } = sender;
    // A response helps running calls to finish, so it is still accepted.
    if (this.#draining && given.some(({ kind }) => kind !== 'answer')) throw new Failure('shutting_down');
    for (const one of given) {
      const lacking = authenticator.check(
        endpoint.path,
        principal,
        credentials,
        one.kind === 'answer' ? {} : { method: one.method },
      );
      if (lacking !== undefined) throw lacking;
    }
    const [backend = ''] = endpoint.backends;
    const service = services.get(backend);
    if (service === undefined) throw new Failure('backend_unavailable', { message: 'The service is disabled' });
    const cleared = decideAll(authorizer, { principal, endpoint, backend }, given);
    const isBatch = message.kind === 'batch';
    const expects = given.some(({ kind }) => kind === 'request') ? (isBatch ? 'many' : 'one') : 'nothing';
    const outgoing: RpcOutgoing = { bytes: message.bytes, expects };
    const relay = new RpcRelay({
      ...{ service, cleared, outgoing, reply, fault },
      over: (done) => {
        this.#relays.delete(done);
        work.end();
      },
    });
    work.begin();
    this.#relays.add(relay);
    relay.start();
  }
}

/** The messages that are known before the members of a batch are read. */
function unreadOf(message: RpcMessage | Batch): readonly RpcMessage[] {
  return message.kind === 'batch' ? [] : [message];
}

function idsOf(messages: readonly RpcMessage[]): readonly string[] {
  return messages.flatMap((message) => (message.kind === 'request' && message.id !== undefined ? [message.id] : []));
}
