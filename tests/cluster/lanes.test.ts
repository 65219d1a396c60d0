/** Requests that go over a lane to another process arrive there as they were, and so do their responses. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer as createPlainServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Forwarded } from '../../src/cluster/forwarded.ts';
import { FrameWriter, frames } from '../../src/cluster/lanes/frames.ts';
import { Hellos } from '../../src/cluster/lanes/hello.ts';
import { openLaneDoor } from '../../src/cluster/lanes/lane-door.ts';
import { Lanes } from '../../src/cluster/lanes/lanes.ts';
import type { Enter } from '../../src/downstream/forwarding.ts';
import { HttpAnswer } from '../../src/downstream/respond.ts';
import type { Shared } from '../../src/downstream/shared.ts';
import { createSealFor } from '../../src/store/seal.ts';
import { verifies } from '../requirements/verifies.ts';

const MEBIBYTE = 1024 * 1024;
const opened: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** Readers are watched where there is a whole gateway. */
const unwatched = { readers: { hold: ignore }, stalled: { add: ignore, remove: ignore } } as unknown as Shared;

function ignore(): void {
  // Nothing is done.
}

let ids = 0;
const hellos = () =>
  new Hellos({ seal: createSealFor('forward', 'one'), timeOfDay: Date.now, newId: () => String(++ids) });

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** A process that clients send to, and another one that answers. */
async function twoProcesses(enter: Enter) {
  const inner = createPlainServer();
  const door = await openLaneDoor(inner, { port: 0, host: '127.0.0.1' }, { own: 'b', hellos: hellos(), enter, fault });
  const { port: innerPort } = door;
  const lanes = new Lanes({ own: 'a', hellos: hellos(), dial: () => connect(innerPort, '127.0.0.1') });
  const outcomes: Forwarded[] = [];
  const outer = createServer({ ServerResponse: HttpAnswer }, async (req, res) => {
    res.shared = unwatched;
    const body = req.method === 'POST' ? await bodyOf(req) : undefined;
    const outcome = await lanes.carry('b', { res, principal: 'kéy:ada ✓', body, takesOver: false });
    outcomes.push(outcome);
    if (outcome.kind !== 'answered') res.destroy();
  });
  outer.listen(0, '127.0.0.1');
  await once(outer, 'listening');
  opened.push(() => door.close());
  opened.push(() => lanes.close());
  opened.push(() => outer.close().closeAllConnections());
  const { port } = outer.address() as AddressInfo;
  return { port, door, lanes, outcomes };
}

function fault(error: Error): never {
  throw error;
}

async function ask(port: number, method = 'GET', body?: Buffer, headers: Record<string, string | string[]> = {}) {
  const asking = request({ port, host: '127.0.0.1', method, path: '/mcp?a=b', headers });
  asking.end(body);
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return answer;
}

describe('a lane', verifies('gateway:workers:forwarded'), () => {
  it('carries method, address, headers, body and principal, and status, headers and body back', async () => {
    let seen: unknown;
    const { port } = await twoProcesses(async (req, res, from) => {
      const body = (await bodyOf(req)).toString();
      const { method, url, headersDistinct: headers } = req;
      seen = { method, url, body, from, twice: headers['x-twice'], address: req.socket.remoteAddress };
      const head = ['Content-Length', '4', 'X-A', 'é', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'];
      res.writeHead(201, head).end('done', 'latin1');
    });
    const answer = await ask(port, 'POST', Buffer.from('the body'), {
      'x-twice': ['1', '2'],
      connection: 'keep-alive',
    });
    expect(seen).toEqual({
      ...{ method: 'POST', url: '/mcp?a=b', body: 'the body', twice: ['1', '2'], address: '127.0.0.1' },
      from: { from: 'a', principal: 'kéy:ada ✓', takesOver: false },
    });
    expect(answer.statusCode).toBe(201);
    expect(answer.headers['x-a']).toBe('é');
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect((await bodyOf(answer)).toString()).toBe('done');
  });

  it('carries bodies of any size, both ways, beside small ones', async () => {
    const { port } = await twoProcesses(async (req, res) => {
      const body = await bodyOf(req);
      res.writeHead(200, ['Content-Length', String(body.length)]).end(body);
    });
    const sizes = [0, 1, 64 * 1024, 64 * 1024 + 1, MEBIBYTE, MEBIBYTE + 1, 5 * MEBIBYTE, 10, 300 * 1024];
    const bodies = sizes.map((size, at) => Buffer.alloc(size, `${at}`));
    const got = await Promise.all(bodies.map(async (body) => bodyOf(await ask(port, 'POST', body))));
    expect(got.map((body, at) => body.equals(bodies[at] as Buffer))).toEqual(sizes.map(() => true));
  });

  it('begins an event stream before its first event, and carries each event when it is written', async () => {
    const { port } = await twoProcesses((_req, res) => {
      res.writeHead(200, ['Content-Type', 'text/event-stream']);
      res.flushHeaders();
      opened.push(() => res.end());
      setImmediate(() => res.write('data: one\n\n'));
    });
    const answer = await ask(port);
    expect(answer.headers['content-type']).toBe('text/event-stream');
    const [first] = await once(answer, 'data');
    expect(String(first)).toBe('data: one\n\n');
    answer.destroy();
  });

  it('holds a bounded amount for a client that does not read, and goes on when it reads', async () => {
    const total = 32 * MEBIBYTE;
    let written = 0;
    let drained = 0;
    const { port } = await twoProcesses((_req, res) => {
      res.writeHead(200, ['Content-Type', 'application/octet-stream']);
      const more = () => {
        while (written < total) {
          written += 128 * 1024;
          if (!res.write(Buffer.alloc(128 * 1024))) return;
        }
        res.end();
      };
      res.on('drain', () => {
        drained += 1;
        more();
      });
      more();
    });
    const answer = await ask(port);
    // What the two processes and the system hold, while the client reads nothing.
    expect(written).toBeLessThan(total / 2);
    expect((await bodyOf(answer)).length).toBe(total);
    expect(drained).toBeGreaterThan(0);
  });

  it('tells the other process that the client is gone', async () => {
    let gone!: Promise<unknown>;
    const { port, outcomes } = await twoProcesses((_req, res) => {
      res.writeHead(200, ['Content-Type', 'text/event-stream']);
      res.flushHeaders();
      gone = once(res, 'close');
    });
    (await ask(port)).destroy();
    await gone;
    expect(outcomes).toEqual([{ kind: 'answered' }]);
  });

  it('keeps no lane for a large body whose client is gone before the lane is open', async () => {
    const { port, door, lanes } = await twoProcesses((_req, res) => res.end());
    const gone = Object.assign(new HttpAnswer({} as IncomingMessage), { gone: true });
    const carriage = { res: gone, principal: '', body: Buffer.alloc(MEBIBYTE + 1), takesOver: false };
    expect(await lanes.carry('b', carriage)).toEqual({ kind: 'answered' });
    expect(lanes.awaited).toEqual([]);
    await expect.poll(() => door.lanes).toBe(0);
    expect((await ask(port)).statusCode).toBe(200);
  });

  it('cuts a response off that the other process does not complete', async () => {
    const { port, outcomes } = await twoProcesses((_req, res) => {
      res.writeHead(200, ['Content-Length', '100']).write('a part');
      setImmediate(() => res.destroy());
    });
    await expect(ask(port).then(bodyOf)).rejects.toThrow();
    await expect.poll(() => outcomes[0]?.kind).toBe('cut');
  });

  it('says where a process is being stopped that it has not seen the request', async () => {
    const { port, door, outcomes } = await twoProcesses((_req, res) => {
      res.writeHead(202, ['Content-Length', '0']).end();
    });
    expect((await ask(port)).statusCode).toBe(202);
    const closing = door.close();
    await expect(ask(port)).rejects.toThrow();
    await closing;
    await expect(ask(port)).rejects.toThrow();
    expect(outcomes.map(({ kind }) => kind)).toEqual(['answered', 'away', 'away']);
  });
});

describe('the door of lanes', verifies('gateway:replicas:guarded', 'gateway:workers:forwarded'), () => {
  async function knock(speak: (socket: Socket, writer: FrameWriter) => void) {
    let entered = 0;
    const { door } = await twoProcesses((_req, res) => {
      entered += 1;
      res.end();
    });
    const socket = connect(door.port, '127.0.0.1');
    await once(socket, 'connect');
    let heard = 0;
    socket.on('data', ({ length }) => {
      heard += length;
    });
    socket.on('error', () => undefined);
    speak(socket, new FrameWriter(socket));
    await once(socket, 'close');
    return { entered, heard };
  }

  const head = JSON.stringify({ method: 'GET', url: '/', headers: [], size: 0, principal: 'a', address: '' });
  const nothing = { entered: 0, heard: 0 };

  it.each([
    ['HTTP', (socket: Socket) => socket.write('POST /mcp HTTP/1.1\r\nhost: a\r\n\r\n')],
    ['a request before the hello', (_: Socket, writer: FrameWriter) => writer.write(frames.request, 1, head)],
    ['a made-up hello', (_: Socket, writer: FrameWriter) => writer.write(frames.hello, 0, 'made up')],
    [
      'a hello for another process',
      (_: Socket, writer: FrameWriter) => writer.write(frames.hello, 0, hellos().write('a', 'c')),
    ],
  ])('does not answer %s', async (_name, speak) => {
    expect(await knock(speak)).toEqual(nothing);
  });

  it('closes a lane on which something comes that is no request', async () => {
    const { entered } = await knock((_socket, writer) => {
      writer.write(frames.hello, 0, hellos().write('a', 'b'));
      writer.write(frames.request, 1, '{');
    });
    expect(entered).toBe(0);
  });
});
