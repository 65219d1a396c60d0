/**
 * Connections that survive a peer which closes or resets them while the response is paused. undici's parser asserts
 * that it is not paused when a connection without keep-alive ends (nodejs/undici#5360). A socket event throws the
 * assertion, so no caller can catch it, and it would end the process. The headers alone do not tell which connections
 * are kept alive: HTTP/1.0 has a different default.
 */
import { Socket } from 'node:net';
import buildConnector from 'undici/lib/core/connect.js';
import errors from 'undici/lib/core/errors.js';

type SocketListener = (this: Socket, ...args: unknown[]) => void;

const on: (this: Socket, event: string, listener: SocketListener) => Socket = Socket.prototype.on;
const ENDINGS: ReadonlySet<string> = new Set(['end', 'error', 'close']);

export function createConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error === null) callback(null, survivor(socket));
      else callback(error, null);
    });
}

function survivor<T extends Socket>(socket: T): T {
  return Object.assign(socket, { on: survive });
}

/** undici adds its listeners with `on`. Only those of an ending are wrapped, so that reading costs nothing more. */
function survive(this: Socket, event: string, listener: SocketListener): Socket {
  // `once` removes its own wrapper by identity, so that stays as it is.
  const isWrapped = ENDINGS.has(event) && !('listener' in listener);
  return on.call(this, event, isWrapped ? wrapperOf(event, listener) : listener);
}

/**
 * The wrappers of each listener, by event. undici adds the same functions to every connection, so one wrapper of each
 * serves all connections.
 */
const wrappers = new WeakMap<SocketListener, Map<string, SocketListener>>();

function wrapperOf(event: string, listener: SocketListener): SocketListener {
  const byEvent = wrappers.get(listener) ?? new Map<string, SocketListener>();
  wrappers.set(listener, byEvent);
  const wrapper = byEvent.get(event) ?? surviving(event, listener);
  byEvent.set(event, wrapper);
  return wrapper;
}

function surviving(event: string, listener: SocketListener): SocketListener {
  function guarded(this: Socket, ...args: unknown[]): void {
    try {
      listener.apply(this, args);
    } catch (failed) {
      if (!isAssertion(failed)) throw failed;
      // undici takes any other error as the end of the response, whatever the state of its parser.
      const cut = new errors.SocketError('other side closed');
      if (event === 'end') this.destroy(cut);
      else this.emit('error', cut);
      if (event === 'close') listener.apply(this, args);
    }
  }
  // `removeListener` finds a wrapper by this member.
  return Object.assign(guarded, { listener });
}

function isAssertion(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_ASSERTION';
}
