/** Shows what backends get and send (`--trace`). It wraps the channels, so without it nothing is asked. */
import type { Failure } from '../errors/failure.ts';
import type { WirePeer, WireTrace } from '../observe/wire-trace.ts';
import type { Connector, TransportWay } from './backend-options.ts';
import type { Channel, ChannelSink, RequestSink } from './channel.ts';

export function tracedConnector(connector: Connector, backend: string, trace: WireTrace): Connector {
  const peer: WirePeer = { side: 'backend', name: backend };
  const traced = (way: TransportWay): TransportWay => ({
    transport: way.transport,
    connect: async (era, sink, patienceMs, owner) =>
      tracedChannel(await way.connect(era, tracedSink(sink, peer, trace), patienceMs, owner), peer, trace),
  });
  const { older } = connector;
  return { ...traced(connector), ...(older && { older: traced(older) }), close: () => connector.close() };
}

function tracedChannel(channel: Channel, peer: WirePeer, trace: WireTrace): Channel {
  return {
    streamPerRequest: channel.streamPerRequest,
    request: (outgoing, sink) => {
      trace.show('out', peer, outgoing.bytes, readerOf(outgoing.headers));
      return channel.request(outgoing, tracedRequestSink(sink, peer, trace));
    },
    post: (message, headers) => {
      trace.show('out', peer, message, readerOf(headers));
      return channel.post(message, headers);
    },
    ...(channel.listen && {
      listen: (headers, listener) => {
        trace.show('out', peer, 'GET, for a stream', readerOf(headers));
        return channel.listen?.(headers, listener) ?? Promise.resolve();
      },
    }),
    ...(channel.forget && {
      forget: (headers) => {
        trace.show('out', peer, 'DELETE, of a session', readerOf(headers));
        return channel.forget?.(headers) ?? Promise.resolve();
      },
    }),
    ...(channel.keepWhile && { keepWhile: (wanted) => channel.keepWhile?.(wanted) }),
    close: () => channel.close(),
  };
}

function tracedRequestSink(sink: RequestSink, peer: WirePeer, trace: WireTrace): RequestSink {
  return {
    message: (message) => {
      trace.show('in', peer, message.bytes);
      return sink.message(message);
    },
    answered: (message, http) => {
      trace.show('in', peer, message.bytes);
      sink.answered(message, http);
    },
    failed: (failure, http) => {
      trace.show('in', peer, failed(failure));
      sink.failed(failure, http);
    },
    alive: () => sink.alive(),
    paused: (retryMs) => sink.paused(retryMs),
  };
}

function tracedSink(sink: ChannelSink, peer: WirePeer, trace: WireTrace): ChannelSink {
  return {
    stray: (message) => {
      trace.show('in', peer, message.bytes);
      return sink.stray(message);
    },
    lost: (failure) => {
      trace.show('in', peer, failed(failure));
      sink.lost(failure);
    },
  };
}

function failed({ reason, message }: Failure): string {
  return `no response, ${reason}: ${message}`;
}

/** Channels get header names in any case. */
function readerOf(headers: Readonly<Record<string, string>>): (name: string) => string | undefined {
  return (name) => Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}
