/** Shows what clients send and get (`--trace`). It wraps the gateway, so without it nothing is asked. */
import type { Failure } from '../errors/failure.ts';
import type { Gateway, PersistentConnection, Sender } from '../exchange/arrival.ts';
import type { Connection, Outlet, Reply, Settlement } from '../exchange/outlet.ts';
import type { Credentials } from '../identity/principal.ts';
import type { RpcReply } from '../jsonrpc/ports.ts';
import type { WirePeer, WireTrace } from '../observe/wire-trace.ts';
import { failureBytes, inOnePiece } from '../wire/compose.ts';
import type { Era } from '../wire/revisions.ts';

/** The address that a request came from; over stdio there is none. */
export type AddressOf = (credentials: Exclude<Credentials, 'local'>) => string;

export function tracedGateway(gateway: Gateway, trace: WireTrace, addressOf: AddressOf): Gateway {
  const peerOf = (credentials: Credentials): WirePeer => ({
    side: 'client',
    name: credentials === 'local' ? 'stdio' : addressOf(credentials),
  });
  const peerFor = ({ credentials }: Sender) => peerOf(credentials);
  return {
    get draining() {
      return gateway.draining;
    },
    authenticate: (endpoint, credentials) => gateway.authenticate(endpoint, credentials),
    refusal: (endpoint, credentials, failure, asked) => {
      const told = gateway.refusal(endpoint, credentials, failure, asked);
      trace.show('out', peerOf(credentials), refused(told));
      return told;
    },
    receive: (arrival) => {
      const peer = peerFor(arrival.sender);
      trace.show('in', peer, arrival.message.bytes, arrival.header);
      const { endpoint, sender, header, paramHeaders, message, requestId } = arrival;
      const reply = tracedReply(arrival.reply, peer, trace);
      gateway.receive({ endpoint, sender, header, paramHeaders, message, requestId, reply });
    },
    unread: (request, failure) => {
      trace.show('in', peerFor(request.sender), refused(failure));
      gateway.unread(request, failure);
    },
    listen: async (request, open) => {
      const peer = peerFor(request.sender);
      trace.show('in', peer, 'GET, for a stream', request.header);
      const failure = await gateway.listen(request, () => tracedConnection(open(), peer, trace));
      if (failure !== undefined) trace.show('out', peer, refused(failure));
      return failure;
    },
    end: async (request) => {
      trace.show('in', peerFor(request.sender), 'DELETE, of a session', request.header);
      const failure = await gateway.end(request);
      trace.show('out', peerFor(request.sender), failure === undefined ? '204' : refused(failure));
      return failure;
    },
    hop: (request) => gateway.hop(request),
    places: gateway.places,
    memberOfRetry: (arrival) => gateway.memberOfRetry(arrival),
    connect: async (endpoint, sender, via, connection) => {
      const peer = peerFor(sender);
      const wrapped = tracedConnection(connection, peer, trace);
      const persistent = await gateway.connect(endpoint, sender, via, wrapped);
      return 'receive' in persistent ? tracedPersistent(persistent, peer, trace) : persistent;
    },
    rpc: {
      receive: (arrival) => {
        const peer = peerFor(arrival.sender);
        trace.show('in', peer, arrival.message.bytes);
        const { endpoint, sender, message, requestId } = arrival;
        const reply = tracedRpcReply(arrival.reply, peer, trace);
        gateway.rpc.receive({ endpoint, sender, message, requestId, reply });
      },
    },
  };
}

function refused({ reason, message, row, http }: Failure): string {
  return `${http?.status ?? row.status} ${reason}: ${message}`;
}

function tracedReply(reply: Reply, peer: WirePeer, trace: WireTrace): Reply {
  const out = (body: Uint8Array | string) => trace.show('out', peer, body);
  return {
    get status() {
      return reply.status;
    },
    carry: (headers) => reply.carry(headers),
    accepted: () => {
      out('202');
      reply.accepted();
    },
    refuse: (failure, era, id) => {
      out(failureBytes(failure, era, id));
      reply.refuse(failure, era, id);
    },
    respond: (bytes, headers) => {
      out(bytes);
      reply.respond(bytes, headers);
    },
    open: (options) => reply.open(options).map((outlet) => new TracedOutlet(outlet, options.era, out)),
  };
}

class TracedOutlet implements Outlet {
  readonly #outlet: Outlet;
  readonly #era: Era;
  readonly #out: (body: Uint8Array | string) => void;

  constructor(outlet: Outlet, era: Era, out: (body: Uint8Array | string) => void) {
    this.#outlet = outlet;
    this.#era = era;
    this.#out = out;
  }

  get carries(): boolean {
    return this.#outlet.carries;
  }

  send(...message: Parameters<Outlet['send']>): void {
    this.#out(message[0]);
    this.#outlet.send(...message);
  }

  settle(settlement: Settlement): void {
    if (settlement.kind === 'response') this.#out(inOnePiece(settlement.bytes));
    else if (settlement.kind === 'failure') this.#out(failureBytes(settlement.failure, this.#era, settlement.id));
    else this.#out('no response: the request was cancelled');
    this.#outlet.settle(settlement);
  }

  pause(retryMs: number | undefined): void {
    this.#outlet.pause(retryMs);
  }

  onAbandoned(listener: () => void): void {
    this.#outlet.onAbandoned(listener);
  }
}

/** Events without data only prime a client to resume. */
function tracedConnection(connection: Connection, peer: WirePeer, trace: WireTrace): Connection {
  return {
    send: (event) => {
      if (event.data.byteLength > 0) trace.show('out', peer, event.data);
      connection.send(event);
    },
    pause: (retryMs) => connection.pause(retryMs),
    end: () => connection.end(),
    onClose: (listener) => connection.onClose(listener),
  };
}

function tracedPersistent(persistent: PersistentConnection, peer: WirePeer, trace: WireTrace): PersistentConnection {
  return {
    refusal: (sender, message) => {
      const failure = persistent.refusal(sender, message);
      if (failure !== undefined) trace.show('out', peer, refused(failure));
      return failure;
    },
    receive: (message, sender) => {
      trace.show('in', peer, message.bytes);
      persistent.receive(message, sender);
    },
    close: () => persistent.close(),
  };
}

function tracedRpcReply(reply: RpcReply, peer: WirePeer, trace: WireTrace): RpcReply {
  return {
    answered: (status, body) => {
      trace.show('out', peer, body);
      reply.answered(status, body);
    },
    taken: (status) => {
      trace.show('out', peer, String(status));
      reply.taken(status);
    },
    refuse: (failure, ids) => {
      trace.show('out', peer, refused(failure));
      reply.refuse(failure, ids);
    },
    whenGone: (listener) => reply.whenGone(listener),
    get status() {
      return reply.status;
    },
  };
}
