/** What somebody can do who reaches the port between replicas, or has seen a forwarded request. */
import { randomBytes } from 'node:crypto';
import { get } from 'node:https';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { openDialer } from '../../src/cluster/door.ts';
import { ENVELOPE_HEADER, Envelopes } from '../../src/cluster/envelope.ts';
import { createSealFor } from '../../src/store/seal.ts';
import { call, echo, expectRefused, request, result, sessionNotFound, text } from '../interaction/harness/behind.ts';
import { connectLegacy } from '../interaction/harness/eras.ts';
import { legacyBackend } from '../interaction/harness/http-backend.ts';
import { freePort } from '../interaction/harness/ports.ts';
import { verifies } from '../requirements/verifies.ts';
import { KEY, startReplicas } from './replicas.ts';

async function guarded() {
  const backend = await legacyBackend(echo);
  const ports = [await freePort(), await freePort()];
  const each = (number: number) => ({ replicas: { listen: `127.0.0.1:${ports[number]}` } });
  const replicas = await startReplicas({ backends: { b: { url: backend.url } } }, { count: 2, each });
  return { ...replicas, backend, port: ports[0] ?? 0 };
}

interface Told {
  readonly status: number;
  readonly body: string;
}

/** A POST to the port between replicas, by one that has the key. */
function knock(port: number, key: string, headers: Readonly<Record<string, string>>): Promise<Told> {
  const { dialAt, agent } = openDialer(key);
  return new Promise((resolve, reject) => {
    const asking = dialAt(`127.0.0.1:${port}`)({ agent, method: 'POST', path: '/mcp', headers });
    asking.on('error', reject);
    asking.on('response', (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (chunk) => {
        body += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
    });
    asking.end(JSON.stringify(request(1, 'ping')));
  });
}

describe('the port between replicas', verifies('gateway:replicas:guarded'), () => {
  it('speaks to nobody without the key', async () => {
    const { port } = await guarded();
    await expect(knock(port, `${KEY}, nearly`, {})).rejects.toThrow();
    const plain = new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, rejectUnauthorized: false }, resolve).on('error', reject);
    });
    await expect(plain).rejects.toThrow();
    const raw = await new Promise<string>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('POST /mcp HTTP/1.1\r\nhost: a\r\n\r\n'));
      let heard = '';
      socket.on('data', (bytes) => {
        heard += bytes.toString('latin1');
      });
      socket.on('error', () => undefined).on('close', () => resolve(heard));
    });
    expect(raw).not.toContain('HTTP/1.1');
  });

  it('takes no request without an envelope, with a made-up one, with one of another key or process', async () => {
    const { port } = await guarded();
    const ports = { timeOfDay: Date.now, newId: () => randomBytes(8).toString('hex') };
    const facts = { from: 'a', to: 'b', method: 'POST', url: '/mcp', principal: 'anonymous', address: '' };
    const written = (key: string) => new Envelopes({ ...ports, seal: createSealFor('forward', key) }).write(facts);
    for (const headers of [
      {},
      { [ENVELOPE_HEADER]: 'x'.repeat(100) },
      { [ENVELOPE_HEADER]: written(KEY) },
      { [ENVELOPE_HEADER]: written(`${KEY}, nearly`) },
    ]) {
      const { status, body } = await knock(port, KEY, headers as Record<string, string>);
      expect(status).toBe(403);
      expect(JSON.parse(body).error.data.reason).toBe('not_forwarded');
    }
  });
});

it('clients cannot make themselves forwarded requests', verifies('gateway:replicas:guarded'), async () => {
  const { url } = await guarded();
  const client = await connectLegacy(url);
  for (let n = 0; n < 4; n++)
    expect((await client.post(call(n, { n }), { [ENVELOPE_HEADER]: 'made up' })).json()).toEqual(
      result(n, text(JSON.stringify({ n }))),
    );
});

it('an ended session is ended at every replica', verifies('gateway:replicas:guarded'), async () => {
  const { all } = await guarded();
  const [first, second] = await Promise.all(all.map(({ origin }) => connectLegacy(`${origin}/mcp`)));
  if (first === undefined || second === undefined) throw new Error('two replicas were started');
  const crossed = Object.assign(Object.create(Object.getPrototypeOf(first)), first, { url: second.url });
  expect((await crossed.end()).status).toBe(204);
  for (const client of [first, crossed])
    expectRefused(await client.post(request(1, 'ping')), 404, { ...sessionNotFound, id: 1 });
});
