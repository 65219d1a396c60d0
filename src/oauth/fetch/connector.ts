/**
 * Connections that survive a peer which ends or resets them while their answer is paused. undici's parser asserts that it is not
 * paused when a connection ends that was not to be kept (nodejs/undici#5360). The assertion is thrown out of an event of the
 * socket, where nobody can catch it, and would end the process. Which connections are to be kept cannot be told from the headers
 * alone: HTTP/1.0 has another default.
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
      // undici takes any other error as the end of the answer, whatever state its parser is in.
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
