/**
 * Connections that survive a peer which closes or resets them while the response is paused. undici's parser asserts
 * that it is not paused when a connection without keep-alive ends (nodejs/undici#5360). A socket event throws the
 * assertion, so no caller can catch it, and it would end the process. The headers alone do not tell which connections
 * are kept alive: HTTP/1.0 has a different default.
 */
import type { Socket } from 'node:net';
import { buildConnector, errors } from 'undici';

type SocketListener = (...args: unknown[]) => void;

const ENDINGS: ReadonlySet<string | symbol> = new Set(['end', 'error', 'close']);

export function createConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error === null) callback(null, survivor(socket));
      else callback(error, null);
    });
}

function survivor<T extends Socket>(socket: T): T {
  const on = socket.on.bind(socket) as (event: string | symbol, listener: SocketListener) => T;
  // undici adds its listeners with `on`. Only those of an ending are wrapped, so that reading costs nothing more.
  const survive = (event: string | symbol, listener: SocketListener): T =>
    // `once` removes its own wrapper by identity, so that stays as it is.
    ENDINGS.has(event) && !('listener' in listener)
      ? on(event, surviving(socket, event, listener))
      : on(event, listener);
  return Object.assign(socket, { on: survive });
}

function surviving(socket: Socket, event: string | symbol, listener: SocketListener): SocketListener {
  const guarded: SocketListener = (...args) => {
    try {
      listener.apply(socket, args);
    } catch (failed) {
      if (!isAssertion(failed)) throw failed;
      // undici takes any other error as the end of the response, whatever the state of its parser.
      const cut = new errors.SocketError('other side closed');
      if (event === 'end') socket.destroy(cut);
      else socket.emit('error', cut);
      if (event === 'close') listener.apply(socket, args);
    }
  };
  // `removeListener` finds a wrapper by this member.
  return Object.assign(guarded, { listener });
}

function isAssertion(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_ASSERTION';
}
