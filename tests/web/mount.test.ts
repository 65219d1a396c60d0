import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { page } from '../../src/web/frame.ts';
import { html } from '../../src/web/html.ts';
import { FORM_BYTES, mount, type PageSet } from '../../src/web/mount.ts';
import { type PageRequest, shown } from '../../src/web/request.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function serving(answer: PageSet['answer'] = async () => shown(200, page({ title: 'T', body: html`` }))) {
  const asked: PageRequest[] = [];
  const broken: unknown[] = [];
  const pages = mount(
    {
      owns: (path) => path === '/p',
      answer: (made) => {
        asked.push(made);
        return answer(made);
      },
    },
    { clientAddress: () => '192.0.2.1', broken: (error) => broken.push(error) },
  );
  const server = createServer((req, res) => pages.handle(req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return { asked, broken, port, url: `http://127.0.0.1:${port}` };
}

describe('pages on node:http', () => {
  it('hands over path, query, body and caller', async () => {
    const { url, asked } = await serving();
    await fetch(`${url}/p?a=1&a=2`, {
      method: 'POST',
      body: new URLSearchParams({ b: 'ü' }),
      headers: { Cookie: 'c=d' },
    });
    expect(asked[0]).toMatchObject({
      method: 'POST',
      path: '/p',
      remoteAddress: '127.0.0.1',
      clientAddress: '192.0.2.1',
    });
    expect(asked[0]?.query.getAll('a')).toEqual(['1', '2']);
    expect(asked[0]?.headers.cookie).toBe('c=d');
    expect(Buffer.from(asked[0]?.body ?? []).toString()).toBe('b=%C3%BC');
  });

  it('reads an absolute request line like any other', async () => {
    const { port, asked } = await serving();
    const sent = request({ host: '127.0.0.1', port, path: 'http://gate.example/p?q=1' }).end();
    const [res] = await once(sent, 'response');
    res.resume();
    await once(res, 'end');
    expect(asked[0]?.path).toBe('/p');
    expect(asked[0]?.query.get('q')).toBe('1');
  });

  it('sends several cookies as several headers', async () => {
    const { url } = await serving(async () =>
      shown(200, page({ title: 'T', body: html`` }), { 'set-cookie': ['a=1', 'b=2'] }),
    );
    expect((await fetch(`${url}/p`)).headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  it('answers HEAD with the length only', async () => {
    const { url } = await serving();
    const answer = await fetch(`${url}/p`, { method: 'HEAD' });
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(100);
    expect(await answer.text()).toBe('');
  });

  it.each([
    { name: 'as large as it may be', bytes: FORM_BYTES, status: 200 },
    { name: 'a byte larger', bytes: FORM_BYTES + 1, status: 413 },
    { name: 'much larger', bytes: 4_000_000, status: 413 },
  ])('a form $name: $status', async ({ bytes, status }) => {
    const { port, asked } = await serving();
    const sent = request({ host: '127.0.0.1', port, path: '/p', method: 'POST' });
    // What is still being sent when the answer has come is cut off: that is how it should be.
    sent.on('error', () => undefined);
    sent.end(Buffer.alloc(bytes, 'a'));
    const [res] = await once(sent, 'response');
    res.on('error', () => undefined);
    expect(res.statusCode).toBe(status);
    expect(asked).toHaveLength(status === 200 ? 1 : 0);
    sent.destroy();
  });

  it('makes a page of an unexpected error, without its text', async () => {
    const { url, broken } = await serving(async () => {
      throw new Error('secret');
    });
    const answer = await fetch(`${url}/p`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('secret');
    expect(broken).toHaveLength(1);
  });

  it('does not handle a form that was cut off', async () => {
    const { port, url, asked, broken } = await serving();
    const socket = connect(port, '127.0.0.1');
    socket.write('POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
    await once(socket, 'connect');
    socket.destroy();
    await once(socket, 'close');
    expect((await fetch(`${url}/p`)).status).toBe(200);
    expect(asked.map(({ method }) => method)).toEqual(['GET']);
    expect(broken).toEqual([]);
  });
});
