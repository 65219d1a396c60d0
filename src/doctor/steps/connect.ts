/** The first step: a connection to the host, or a process. */
import { lookup } from 'node:dns/promises';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { systemClock } from '../../app/clock.ts';
import { within } from '../../exchange/within.ts';
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
      const found = await inTime(timeoutMs, lookup(host, { all: true }));
      const addresses = found.map(({ address }) => address);
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
async function reach(host: string, port: number, isTls: boolean, ms: number): Promise<string | undefined> {
  // TLS has no names that are addresses (RFC 6066, 3).
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket: Socket | TLSSocket = isTls ? connectTls({ host, port, ...servername }) : connectPlain(port, host);
  const connected = new Promise<void>((resolve, reject) => {
    socket.once(isTls ? 'secureConnect' : 'connect', resolve);
    socket.on('error', reject);
  });
  try {
    await inTime(ms, connected);
    return 'getProtocol' in socket ? (socket.getProtocol() ?? undefined) : undefined;
  } finally {
    socket.destroy();
  }
}

function inTime<T>(ms: number, work: Promise<T>): Promise<T> {
  return within(systemClock, ms, work, () => {
    throw new Overdue(ms);
  });
}
