/** Requests that go over a lane to another process arrive there as they were, and so do their responses. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, createServer as createPlainServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { guardedDial, guardedServer } from '../../src/cluster/door.ts';
import type { Forwarded } from '../../src/cluster/forwarded.ts';
import { FrameReader, FrameWriter, frames } from '../../src/cluster/lanes/frames.ts';
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
async function twoProcesses(enter: Enter, { mostRequests }: { readonly mostRequests?: number } = {}) {
  const door = await openDoor(createPlainServer(), enter);
  opened.push(() => door.close());
  const { port: innerPort } = door;
  const more = mostRequests === undefined ? {} : { mostRequests };
  const lanes = new Lanes({ own: 'a', hellos: hellos(), dial: () => connect(innerPort, '127.0.0.1'), ...more });
  return { ...(await withClients(lanes)), door };
}

function openDoor(server: Server, enter: Enter) {
  return openLaneDoor(server, { port: 0, host: '127.0.0.1' }, { own: 'b', hellos: hellos(), enter, fault });
}

/** A process that clients send to. */
async function withClients(lanes: Lanes) {
  const outcomes: Forwarded[] = [];
  const outer = createServer({ ServerResponse: HttpAnswer, maxHeaderSize: 8 * MEBIBYTE }, async (req, res) => {
    res.shared = unwatched;
    const body = req.method === 'POST' ? await bodyOf(req) : undefined;
    const outcome = await lanes.carry('b', { res, principal: 'kéy:ada ✓', body, takesOver: false });
    outcomes.push(outcome);
    if (outcome.kind !== 'answered') res.destroy();
  });
  outer.listen(0, '127.0.0.1');
  await once(outer, 'listening');
  opened.push(() => lanes.close());
  opened.push(() => outer.close().closeAllConnections());
  const { port } = outer.address() as AddressInfo;
  return { port, lanes, outcomes };
}

/** What answers is no process of ours, though it accepts lanes: it does what `speak` does for each request. */
async function strangeProcess(speak: (writer: FrameWriter, stream: number) => void) {
  const server = createPlainServer((socket) => {
    const writer = new FrameWriter(socket);
    const reader = new FrameReader((kind, stream) => {
      if (kind === frames.hello) writer.write(frames.welcome, 0);
      else if (kind === frames.request) speak(writer, stream);
    });
    socket.on('data', (chunk) => reader.read(chunk)).on('error', ignore);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  return withClients(new Lanes({ own: 'a', hellos: hellos(), dial: () => connect(port, '127.0.0.1') }));
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

  it('gives way to another one when its numbers are used up, and ends when nothing waits on it', async () => {
    const { port, door } = await twoProcesses(
      (req, res) => {
        if (req.headers['x-stays'] === undefined) res.end();
        else {
          res.writeHead(200, ['Content-Type', 'text/event-stream']);
          res.flushHeaders();
          opened.push(() => res.end());
        }
      },
      { mostRequests: 2 },
    );
    const stream = await ask(port, 'GET', undefined, { 'x-stays': 'yes' });
    for (let n = 0; n < 7; n++) expect((await ask(port)).statusCode).toBe(200);
    // The first one, for the stream.
    await expect.poll(() => door.lanes).toBe(1);
    stream.destroy();
    await expect.poll(() => door.lanes).toBe(0);
  });

  it('is not used for headers that the other process would not take, and stays for others', async () => {
    const { port, door, outcomes } = await twoProcesses((_req, res) => res.end());
    expect((await ask(port)).statusCode).toBe(200);
    await expect(ask(port, 'GET', undefined, { 'x-large': 'x'.repeat(5 * MEBIBYTE) })).rejects.toThrow();
    expect(outcomes[1]).toMatchObject({ kind: 'cut', cause: { message: expect.stringContaining('headers') } });
    expect((await ask(port)).statusCode).toBe(200);
    expect(door.lanes).toBe(1);
  });
});

describe('a process that does not speak as ours do', verifies('gateway:workers:forwarded'), () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n';

  it.each<[string, (writer: FrameWriter, stream: number) => void]>([
    ['sends a response without a head', (writer, stream) => writer.write(frames.data, stream, 'nothing')],
    [
      'does not want a request that it has begun to answer',
      (writer, stream) => {
        writer.write(frames.data, stream, head);
        writer.write(frames.away, stream);
      },
    ],
    [
      'sends more than the client reads',
      (writer, stream) => {
        writer.write(frames.data, stream, head);
        for (let n = 0; n < 200; n++) writer.write(frames.data, stream, Buffer.alloc(64 * 1024));
      },
    ],
    ['answers in frames that are too large', (writer) => writer.write(frames.data, 1, Buffer.alloc(5 * MEBIBYTE))],
  ])('is cut off where it %s', async (_name, speak) => {
    const { port, outcomes } = await strangeProcess(speak);
    const asking = request({ port, host: '127.0.0.1' });
    asking.on('error', ignore).end();
    await expect.poll(() => outcomes.map(({ kind }) => kind)).toEqual(['cut']);
    asking.destroy();
  });

  it('is not heard where it answers what was not asked', async () => {
    const { port } = await strangeProcess((writer, stream) => {
      for (const kind of [frames.data, frames.end, frames.reset, frames.away, frames.credit, 99])
        writer.write(kind, stream + 1, head);
      writer.write(frames.data, stream, 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone');
      writer.write(frames.end, stream);
    });
    expect((await bodyOf(await ask(port))).toString()).toBe('done');
  });
});

describe('the door of lanes', verifies('gateway:replicas:guarded', 'gateway:workers:forwarded'), () => {
  async function knock(speak: (socket: Socket, writer: FrameWriter) => void) {
    let entered = 0;
    const { door, port } = await twoProcesses((_req, res) => {
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
    const closed = new Promise((resolve) => socket.on('close', resolve));
    speak(socket, new FrameWriter(socket));
    await closed;
    // Others are served as before.
    expect((await ask(port)).statusCode).toBe(200);
    return { entered: entered - 1, heard };
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

  const headOf = (more: object) => JSON.stringify({ ...JSON.parse(head), ...more });

  it.each<[string, (writer: FrameWriter) => void]>([
    ['a frame that is too large', (writer) => writer.write(frames.body, 1, Buffer.alloc(5 * MEBIBYTE))],
    [
      'a body that is longer than it was said to be',
      (writer) => {
        writer.write(frames.request, 1, headOf({ method: 'POST', size: 4 }));
        writer.write(frames.body, 1, 'four');
        writer.write(frames.body, 1, 'and more');
      },
    ],
    [
      'two requests with one number',
      (writer) => {
        writer.write(frames.request, 1, headOf({ size: 4 }));
        writer.write(frames.request, 1, headOf({ size: 4 }));
      },
    ],
    [
      'a number of bytes that is none',
      (writer) => {
        writer.write(frames.request, 1, headOf({ size: 4 }));
        writer.write(frames.credit, 1, 'x');
      },
    ],
    ['headers that are none', (writer) => writer.write(frames.request, 1, headOf({ headers: ['a', 1] }))],
    ['a size that is none', (writer) => writer.write(frames.request, 1, headOf({ size: -1 }))],
    ['a principal that is none', (writer) => writer.write(frames.request, 1, headOf({ principal: {} }))],
  ])('closes a lane on which %s comes, and goes on with others', async (_name, speak) => {
    const { entered } = await knock((_socket, writer) => {
      writer.write(frames.hello, 0, hellos().write('a', 'b'));
      speak(writer);
    });
    expect(entered).toBeLessThanOrEqual(1);
  });

  it('takes no large frame from one that has not said who it is', async () => {
    expect(await knock((_socket, writer) => writer.write(frames.hello, 0, 'x'.repeat(8_192)))).toEqual(nothing);
  });

  it.each<[string, () => Server, (port: number) => Socket]>([
    ['plain', () => createPlainServer(), (port) => connect(port, '127.0.0.1')],
    ['encrypted', () => guardedServer('one', []), (port) => guardedDial('one')(`127.0.0.1:${port}`)],
  ])(
    'that takes %s connections is open to ours while others hold it full of silent ones',
    async (_name, serve, dial) => {
      const door = await openDoor(serve(), (_req, res) => res.end());
      opened.push(() => door.close());
      const silent = Array.from({ length: 300 }, () => connect(door.port, '127.0.0.1').on('error', ignore));
      opened.push(() => silent.map((socket) => socket.destroy()));
      await Promise.all(silent.map((socket) => once(socket, 'connect')));
      const { port } = await withClients(new Lanes({ own: 'a', hellos: hellos(), dial: () => dial(door.port) }));
      expect((await ask(port)).statusCode).toBe(200);
      const gone = silent.filter(({ destroyed, readableEnded }) => destroyed || readableEnded);
      expect(gone.length).toBeGreaterThan(0);
    },
  );
});
