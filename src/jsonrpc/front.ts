/**
 * Endpoints of JSON-RPC services that are not MCP. Same stages, same order, without MCP's own rules:
 *
 *   downstream -> authenticate -> profile -> strict parsing -> scopes -> authorize -> service
 *
 * What passes is sent on byte for byte, a batch as one batch. What fails a stage never reaches the service.
 */
import { Failure } from '../errors/failure.ts';
import type { Endpoint, SentRequest } from '../exchange/arrival.ts';
import { rpcAsked } from '../exchange/asked.ts';
import { whenKnown } from '../exchange/on-fulfilled.ts';
import type { AuthContext } from '../identity/principal.ts';
import { abandonAuthorization } from '../pipeline/authorize.ts';
import { askEveryone } from '../pipeline/decide-outside.ts';
import type { SharedServices } from '../pipeline/services.ts';
import { RPC } from '../policy/actions.ts';
import type { Authorization, AuthorizationRequest } from '../policy/authorization-request.ts';
import { permitAnswer } from '../policy/permit.ts';
import { Denied } from '../policy/refusals.ts';
import type { Batch } from '../wire/message.ts';
import { type RpcCall, type RpcMessage, readRpcBatch } from '../wire/rpc.ts';
import { ObservedReply } from './observed-reply.ts';
import type { RpcArrival, RpcGate, RpcObserver, RpcService } from './ports.ts';
import { type AuthorizedCall, RpcRelay } from './relay.ts';

export type RpcFrontServices = Pick<
  SharedServices,
  'limits' | 'currentGeneration' | 'backendInFlight' | 'work' | 'fault' | 'clock' | 'approvals'
>;

/** Authenticates the sender by the current generation. Returns why it is refused, or undefined. */
type AuthenticateAgain = (arrival: SentRequest, asked: AuthContext) => Promise<Failure | undefined>;

export class RpcFront implements RpcGate {
  readonly #shared: RpcFrontServices;
  readonly #relays = new Set<RpcRelay>();
  readonly #authenticateAgain: AuthenticateAgain;
  readonly #observer: RpcObserver | undefined;

  constructor(shared: RpcFrontServices, authenticateAgain: AuthenticateAgain, observer: RpcObserver | undefined) {
    this.#shared = shared;
    this.#authenticateAgain = authenticateAgain;
    this.#observer = observer;
  }

  receive(arrival: RpcArrival): void {
    const { sender, message, reply, requestId } = arrival;
    const refuse = (failure: Failure) => reply.refuse(failure, idsOf(unreadOf(message)));
    if (sender.generation !== this.#shared.currentGeneration.now) {
      void this.#authenticateAgain(arrival, rpcAsked(message)).then((failure) => {
        if (failure === undefined) this.receive(arrival);
        else refuse(failure);
      });
      return;
    }
    // `arrival.endpoint` may belong to an earlier generation.
    const endpoint = sender.generation.endpoints.get(arrival.endpoint.path);
    if (endpoint?.protocol === 'json-rpc') this.#enter({ endpoint, sender, message, requestId, reply });
    else refuse(new Failure('path_not_found'));
  }

  abort(failure: Failure): void {
    for (const relay of [...this.#relays]) relay.abort(failure);
  }

  #enter(arrival: RpcArrival): void {
    const { endpoint, message, sender } = arrival;
    const observed = this.#observer && new ObservedReply(arrival.reply, this.#observer);
    const reply = observed ?? arrival.reply;
    let messages = unreadOf(message);
    const refuse = (error: unknown) => {
      const failure = this.#shared.fault(error);
      sender.generation.authorizer.trail.refused({ principal: sender.principal, endpoint }, failure);
      reply.refuse(failure, idsOf(messages));
    };
    try {
      if (message.kind === 'batch') messages = this.#membersOf(endpoint, message);
      observed?.begin(arrival, messages, this.#shared.clock.now());
      const passing = this.#pass({ ...arrival, reply }, messages);
      if (passing instanceof Promise) passing.catch(refuse);
    } catch (error) {
      refuse(error);
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

  /** Throws, or rejects with, a Failure where nothing was sent to the service. */
  #pass(arrival: RpcArrival, given: readonly RpcMessage[]): void | Promise<void> {
    const { endpoint, sender } = arrival;
    const { principal, credentials, generation } = sender;
    const { authenticator, services } = generation;
    const { work } = this.#shared;
    // A response helps running calls to finish, so it is still accepted.
    if (work.draining && given.some(({ kind }) => kind !== 'answer')) throw new Failure('shutting_down');
    for (const one of given) {
      const method = one.kind === 'answer' ? {} : { method: one.method };
      const lacking = authenticator.check(endpoint.path, principal, credentials, method);
      if (lacking !== undefined) throw lacking;
    }
    const [backend = ''] = endpoint.backends;
    const service = services.get(backend);
    if (service === undefined) throw new Failure('backend_unavailable', { message: 'The service is disabled' });
    return whenKnown(authorizeAll(arrival, backend, given), (calls) => {
      if (calls.every(({ authorization }) => authorization.withheld === undefined))
        return this.#send(arrival, given, service, calls);
      return this.#approved(arrival, backend, calls).then((approved) => this.#send(arrival, given, service, approved));
    });
  }

  /** The calls, once those that a person has to approve are approved. Rejects with a Failure. */
  async #approved(
    { endpoint, sender }: RpcArrival,
    backend: string,
    calls: readonly DecidedCall[],
  ): Promise<readonly AuthorizedCall[]> {
    const { approveTogether } = await import('../pipeline/approve-together.ts');
    const asked = calls.flatMap(({ message: { bytes, params, method }, authorization: { withheld } }) => {
      if (withheld === undefined) return [];
      const named = { principal: sender.principal, client: undefined, endpoint: endpoint.path, backend, method };
      const own = { name: method, own: method, bytes, params, arguments: params, rounds: 'none' } as const;
      return [{ withheld, call: { ...named, ...own, demand: withheld.demand } }];
    });
    try {
      const approved = [...(await approveTogether(this.#shared, asked))];
      return calls.map((call) =>
        call.authorization.withheld === undefined
          ? call
          : { ...call, authorization: approved.shift() ?? call.authorization },
      );
    } catch (error) {
      for (const { authorization } of calls) abandonAuthorization(authorization);
      throw error;
    }
  }

  #send(
    { endpoint, sender, message, reply }: RpcArrival,
    given: readonly RpcMessage[],
    service: RpcService,
    calls: readonly AuthorizedCall[],
  ): void {
    const { backendInFlight, work, fault } = this.#shared;
    const { principal, generation } = sender;
    const [backend = ''] = endpoint.backends;
    // The permit of one call stands for all.
    const permit = calls[0]?.authorization.permit ?? permitAnswer(principal, generation.authorizer.generation);
    const some = message.kind === 'batch' ? 'many' : 'one';
    const expects = given.some(({ kind }) => kind === 'request') ? some : 'nothing';
    const relay = new RpcRelay(reply, calls, fault, (done) => {
      this.#relays.delete(done);
      leave();
      work.end();
    });
    const leave = backendInFlight.enter(backend, relay);
    work.begin();
    this.#relays.add(relay);
    relay.start(service, permit, { bytes: message.bytes, expects });
  }
}

/**
 * Authorizes and records every call before any of them is sent: all members of the body may go to the service, or none.
 * Throws, or rejects with, the first denial. A client's responses have no method, and pass.
 */
function authorizeAll(
  arrival: RpcArrival,
  backend: string,
  messages: readonly RpcMessage[],
): readonly DecidedCall[] | Promise<readonly DecidedCall[]> {
  const { authorizer } = arrival.sender.generation;
  const asked = messages.flatMap((message): (Decided | Promise<Decided>)[] =>
    message.kind === 'answer'
      ? []
      : [decided(message, () => askEveryone(authorizer, requestOf(arrival, backend, message)))],
  );
  const isOutside = (one: Decided | Promise<Decided>) => one instanceof Promise;
  return asked.some(isOutside) ? Promise.all(asked).then(allOf) : allOf(asked as Decided[]);
}

interface DecidedCall extends AuthorizedCall {
  readonly message: RpcCall;
}

type Decided = DecidedCall | { readonly error: unknown };

function decided(message: RpcCall, ask: () => Authorization | Promise<Authorization>): Decided | Promise<Decided> {
  const { id } = message;
  try {
    const authorization = ask();
    if (!(authorization instanceof Promise)) return { id, message, authorization };
    return authorization.then(
      (granted) => ({ id, message, authorization: granted }),
      (error: unknown) => ({ error }),
    );
  } catch (error) {
    return { error };
  }
}

/** Throws the first failure that is no denial, or else the first denial. What was allowed is abandoned then. */
function allOf(decisions: readonly Decided[]): readonly DecidedCall[] {
  const calls = decisions.flatMap((one) => ('authorization' in one ? [one] : []));
  const errors = decisions.flatMap((one) => ('error' in one ? [one.error] : []));
  if (errors.length === 0) return calls;
  for (const { authorization } of calls) abandonAuthorization(authorization);
  throw errors.find((error) => !(error instanceof Denied)) ?? errors[0];
}

function requestOf({ endpoint, sender, requestId }: RpcArrival, backend: string, call: RpcCall): AuthorizationRequest {
  const { method, kind } = call;
  const { credentials, generation } = sender;
  const address = credentials === 'local' ? undefined : generation.addresses.of(credentials) || undefined;
  return {
    sender: { address, requestId, clientName: undefined, sessionTag: undefined, traceparent: undefined },
    principal: sender.principal,
    endpoint,
    backend,
    revision: undefined,
    row: { method, kind, action: RPC },
    thing: { kind: 'method', name: method },
    ...(call.params && { argumentsAt: { bytes: call.bytes, span: call.params } }),
  };
}

/** The messages that are known before the members of a batch are read. */
function unreadOf(message: RpcMessage | Batch): readonly RpcMessage[] {
  return message.kind === 'batch' ? [] : [message];
}

function idsOf(messages: readonly RpcMessage[]): readonly string[] {
  return messages.flatMap((message) => (message.kind === 'request' && message.id !== undefined ? [message.id] : []));
}
