/** What somebody can do who reaches the port between replicas, or has seen a forwarded request. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:https';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { guardedDial } from '../../src/cluster/door.ts';
import { FrameWriter, frames } from '../../src/cluster/lanes/frames.ts';
import { Hellos } from '../../src/cluster/lanes/hello.ts';
import { createSealFor } from '../../src/store/seal.ts';
import { echo, expectRefused, request, sessionNotFound } from '../interaction/harness/behind.ts';
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

/** Says something on a connection to the port between replicas, with the key. Resolves when it is closed. */
async function knock(port: number, key: string, speak: (writer: FrameWriter) => void): Promise<number> {
  const socket = guardedDial(key)(`127.0.0.1:${port}`);
  await once(socket, 'secureConnect');
  let heard = 0;
  socket
    .on('error', () => undefined)
    .on('data', ({ length }: Buffer) => {
      heard += length;
    });
  speak(new FrameWriter(socket));
  await once(socket, 'close');
  return heard;
}

describe('the port between replicas', verifies('gateway:replicas:guarded'), () => {
  it('speaks to nobody without the key', async () => {
    const { port } = await guarded();
    await expect(knock(port, `${KEY}, nearly`, () => undefined)).rejects.toThrow();
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

  it('takes no request without a hello, with a made-up one, with one of another key or process', async () => {
    const { port } = await guarded();
    const ports = { timeOfDay: Date.now, newId: () => randomBytes(8).toString('hex') };
    const hello = (key: string) => new Hellos({ ...ports, seal: createSealFor('forward', key) }).write('a', 'b');
    const head = { method: 'POST', url: '/mcp', headers: [], size: 0, principal: 'anonymous', address: '' };
    for (const said of [undefined, 'x'.repeat(100), hello(KEY), hello(`${KEY}, nearly`)]) {
      const heard = await knock(port, KEY, (writer) => {
        if (said !== undefined) writer.write(frames.hello, 0, said);
        writer.write(frames.request, 1, JSON.stringify(head));
      });
      expect(heard).toBe(0);
    }
  });
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
