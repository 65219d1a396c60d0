/**
 * Connections that survive a peer which closes or resets them while the response is paused. undici's parser asserts
 * that it is not paused when a connection without keep-alive ends (nodejs/undici#5360). A socket event throws the
 * assertion, so no caller can catch it, and it would end the process. The headers alone do not tell which connections
 * are kept alive: HTTP/1.0 has a different default.
 */
import type { Socket } from 'node:net';
import { buildConnector, errors } from 'undici';

export function createConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error === null) callback(null, survivor(socket));
      else callback(error, null);
    });
}

function survivor<T extends Socket>(socket: T): T {
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...args: unknown[]) => boolean;
  const survive = (event: string | symbol, ...args: unknown[]): boolean => {
    try {
      return emit(event, ...args);
    } catch (failed) {
      if (!isAssertion(failed) || (event !== 'end' && event !== 'error' && event !== 'close')) throw failed;
      // undici takes any other error as the end of the response, whatever the state of its parser.
      const cut = new errors.SocketError('other side closed');
      if (event === 'end') socket.destroy(cut);
      else emit('error', cut);
      return event === 'close' ? emit('close', ...args) : true;
    }
  };
  return Object.assign(socket, { emit: survive });
}

function isAssertion(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_ASSERTION';
}
