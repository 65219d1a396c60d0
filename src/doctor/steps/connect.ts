/** The first step: a connection to the host, or a process. */
import { lookup } from 'node:dns/promises';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { unreachable } from '../peer/http.ts';
import type { PeerFault } from '../peer/reply.ts';
import { type DoctorStep, failed, ok } from '../visit.ts';

export const connectStep: DoctorStep = {
  name: 'connect',
  async run(visit) {
    const { target, timeoutMs } = visit.options;
    if (target.kind === 'stdio') {
      const peer = await visit.connect();
      if ('finding' in peer) return failed(peer);
      visit.spare = peer;
      return ok(`${target.command} is started`);
    }
    const { protocol, hostname, port } = new URL(target.url);
    const isTls = protocol === 'https:';
    const host = hostname.replace(/^\[|\]$/g, '');
    const number = port === '' ? (isTls ? 443 : 80) : Number(port);
    try {
      const addresses = (await lookup(host, { all: true })).map(({ address }) => address);
      const security = await reach(host, number, isTls, timeoutMs);
      return ok(`${addresses.slice(0, 3).join(', ')} port ${number}${security === undefined ? '' : `, ${security}`}`);
    } catch (error) {
      return failed(error instanceof Overdue ? error.fault : unreachable(error));
    }
  },
};

class Overdue extends Error {
  readonly fault: PeerFault;

  constructor(ms: number) {
    super('overdue');
    this.fault = { finding: 'unreachable', detail: `no connection within ${ms} ms` };
  }
}

/** Resolves with the version of TLS, if that is used. */
function reach(host: string, port: number, isTls: boolean, ms: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const socket: Socket | TLSSocket = isTls ? connectTls({ host, port, servername: host }) : connectPlain(port, host);
    const timer = setTimeout(() => finish(() => reject(new Overdue(ms))), ms);
    const finish = (action: () => void) => {
      clearTimeout(timer);
      socket.destroy();
      action();
    };
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      const version = 'getProtocol' in socket ? (socket.getProtocol() ?? undefined) : undefined;
      finish(() => resolve(version));
    });
    socket.on('error', (error) => finish(() => reject(error)));
  });
}
