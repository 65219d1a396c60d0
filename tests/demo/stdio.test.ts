import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { type Line, lines } from '../../src/demo/stdio.ts';
import { type DemoProcess, modernParams, startDemo } from './peers.ts';

async function read(chunks: (string | Buffer)[]): Promise<Line[]> {
  const found: Line[] = [];
  for await (const line of lines(Readable.from(chunks.map((chunk) => Buffer.from(chunk))))) found.push(line);
  return found;
}

const unreadable = { unreadable: expect.any(String) };

describe('lines', () => {
  it.each([
    { name: 'two in one chunk', input: ['{"a":1}\n{"b":2}\n'], expect: [{ value: { a: 1 } }, { value: { b: 2 } }] },
    { name: 'one in many chunks', input: [...'{"a":"b"}\n'], expect: [{ value: { a: 'b' } }] },
    { name: 'carriage returns', input: ['1\r\n2\r\n'], expect: [{ value: 1 }, { value: 2 }] },
    { name: 'blank lines', input: ['\n \n1\n'], expect: [{ value: 1 }] },
    { name: 'one that is cut off', input: ['1\n{"a":'], expect: [{ value: 1 }] },
    { name: 'one that is no JSON', input: ['{oops\n1\n'], expect: [unreadable, { value: 1 }] },
    {
      name: 'bytes that are no UTF-8',
      input: [Buffer.from([0x22, 0xff, 0x22, 0x0a]), '1\n'],
      expect: [unreadable, { value: 1 }],
    },
    {
      name: 'a character across two chunks',
      input: [Buffer.from([0x22, 0xc3]), Buffer.from([0xa9, 0x22, 0x0a])],
      expect: [{ value: 'é' }],
    },
    {
      name: 'one that is too long',
      input: ['"', 'x'.repeat(3 << 20), 'x'.repeat(3 << 20), '"\n1\n'],
      expect: [unreadable, { value: 1 }],
    },
  ])('are read: $name', async ({ input, expect: expected }) => {
    expect(await read(input)).toEqual(expected);
  });
});

describe('the process', () => {
  let demo: DemoProcess;
  afterEach(async () => {
    demo.child.kill('SIGKILL');
    demo.child.stdout.resume();
    await demo.exited;
  });

  const listening = `${JSON.stringify({
    jsonrpc: '2.0',
    id: 'ears',
    method: 'subscriptions/listen',
    params: modernParams({ notifications: { toolsListChanged: true } }),
  })}\n`;

  it('answers an unreadable message without an id, and continues', async () => {
    demo = startDemo();
    demo.write('oops\n{"jsonrpc":"2.0","id":null,"method":"ping"}\n{"jsonrpc":"2.0","id":"a","method":7}\n[]\n');
    demo.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await demo.inbox.answerTo(1);
    const answers = demo.inbox.messages.map((message) => ({ id: message.id, code: message.error?.code }));
    expect(answers).toEqual([
      { id: undefined, code: -32700 },
      { id: undefined, code: -32600 },
      { id: 'a', code: -32600 },
      { id: undefined, code: -32600 },
      { id: 1, code: undefined },
    ]);
    expect(demo.inbox.messages.slice(0, 2).some((message) => 'id' in message)).toBe(false);
  });

  it.each([
    { name: 'its input ends', end: () => demo.child.stdin.end() },
    { name: 'it gets SIGTERM', end: () => demo.child.kill('SIGTERM') },
  ])('ends its streams, drops its calls and exits when $name', async ({ end }) => {
    demo = startDemo();
    demo.write(listening);
    const params = modernParams({ name: 'count', arguments: { n: 1000, pauseMs: 10_000 } }, {}, { progressToken: 1 });
    demo.write(`${JSON.stringify({ jsonrpc: '2.0', id: 'slow', method: 'tools/call', params })}\n`);
    await demo.inbox.find(({ method }) => method === 'notifications/progress');
    end();
    expect(await demo.exited).toBe(0);
    expect(demo.inbox.messages.slice(2).map(({ id, method }) => id ?? method)).toEqual([
      'notifications/cancelled',
      'ears',
    ]);
  });

  it('exits when its output is closed', async () => {
    demo = startDemo();
    demo.write(listening);
    await demo.inbox.find(({ method }) => method === 'notifications/subscriptions/acknowledged');
    demo.child.stdout.destroy();
    demo.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    expect(await demo.exited).toBe(0);
  });

  it('exits when its output is not read', async () => {
    demo = startDemo({ reading: false });
    const params = modernParams({ name: 'echo', arguments: { message: 'x'.repeat(1 << 20) } });
    for (let id = 0; id < 30; id++)
      demo.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
    expect(await demo.gone).toBe(1);
  });
});
