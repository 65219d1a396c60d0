/**
 * `npx tsx bench/edges-corpus.ts`: raw requests, most of them wrong in a way that proxies have been attacked with, sent
 * to the listener of the spike and to `node:http`, and how each of them understood it. Decision 15 has the findings.
 */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { forwardedHeads } from './programs/edges/heads.ts';
import { listenHttp, listenNet, type Relay } from './programs/edges/listener.ts';

/** Long enough for an answer over loopback. A connection that is still open then is kept, or waits for more bytes. */
const SILENCE_MS = 400;

const host = 'Host: x\r\n';
const post = (headers: string, body = '', line = 'POST / HTTP/1.1') => `${line}\r\n${host}${headers}\r\n${body}`;
const get = (line = 'GET / HTTP/1.1', headers = host) => `${line}\r\n${headers}\r\n`;
const chunked = (body: string, headers = '') => post(`Transfer-Encoding: chunked\r\n${headers}`, body);
const smuggled = get('GET /smuggled HTTP/1.1');
const whole = '5\r\nhello\r\n0\r\n\r\n';

interface Case {
  readonly name: string;
  readonly bytes: string;
  /** The client closes its half once it has sent everything. */
  readonly isHalfClosed?: true;
}

const length: readonly Case[] = [
  { name: 'Content-Length', bytes: post('Content-Length: 5\r\n', 'hello') },
  { name: 'the same length twice', bytes: post('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello') },
  { name: 'two lengths', bytes: post('Content-Length: 5\r\nContent-Length: 0\r\n', 'hello') },
  { name: 'a list of lengths', bytes: post('Content-Length: 5, 5\r\n', 'hello') },
  { name: 'length with a plus', bytes: post('Content-Length: +5\r\n', 'hello') },
  { name: 'length below zero', bytes: post('Content-Length: -5\r\n', 'hello') },
  { name: 'length in hexadecimal', bytes: post('Content-Length: 0x5\r\n', 'hello') },
  { name: 'length over 64 bits', bytes: post('Content-Length: 18446744073709551621\r\n', 'hello') },
  { name: 'empty length', bytes: post('Content-Length:\r\n', smuggled) },
  { name: 'space before the colon', bytes: post('Content-Length : 5\r\n', 'hello') },
  { name: 'space before the name', bytes: post(' Content-Length: 5\r\n', 'hello') },
  { name: 'length in a folded line', bytes: post('X: a\r\n Content-Length: 5\r\n', 'hello') },
  { name: 'GET with a body', bytes: `${get('GET / HTTP/1.1', `${host}Content-Length: 5\r\n`)}hello` },
  { name: 'POST without a length', bytes: post('', smuggled) },
];

const encoding: readonly Case[] = [
  { name: 'chunked', bytes: chunked(whole) },
  { name: 'chunked and length', bytes: chunked(`0\r\n\r\n${smuggled}`, 'Content-Length: 5\r\n') },
  { name: 'length and chunked', bytes: post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', whole) },
  { name: 'chunked, identity', bytes: post('Transfer-Encoding: chunked, identity\r\n', whole) },
  { name: 'identity', bytes: post('Transfer-Encoding: identity\r\nContent-Length: 5\r\n', 'hello') },
  { name: 'gzip, chunked', bytes: post('Transfer-Encoding: gzip, chunked\r\n', whole) },
  { name: 'xchunked', bytes: post('Transfer-Encoding: xchunked\r\n', whole) },
  { name: 'chunked twice', bytes: post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', whole) },
  { name: 'chunked, then identity', bytes: chunked(whole, 'Transfer-Encoding: identity\r\n') },
  { name: 'chunked after a tab', bytes: post('Transfer-Encoding:\tchunked\r\n', whole) },
  { name: 'chunked in a folded line', bytes: post('Transfer-Encoding:\r\n chunked\r\n', whole) },
  { name: 'chunked in HTTP/1.0', bytes: post('Transfer-Encoding: chunked\r\n', whole, 'POST / HTTP/1.0') },
];

const chunks: readonly Case[] = [
  { name: 'chunk extension', bytes: chunked('5;a=b\r\nhello\r\n0\r\n\r\n') },
  { name: '20 KB of chunk extensions', bytes: chunked(`5;${'a'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`) },
  { name: 'line feed in an extension', bytes: chunked(`5;a\n${whole}`) },
  { name: 'space after the size', bytes: chunked('5 \r\nhello\r\n0\r\n\r\n') },
  { name: 'size with 0x', bytes: chunked('0x5\r\nhello\r\n0\r\n\r\n') },
  { name: 'size over 64 bits', bytes: chunked('10000000000000005\r\nhello\r\n0\r\n\r\n') },
  { name: 'bare line feed after the size', bytes: chunked('5\nhello\r\n0\r\n\r\n') },
  { name: 'no line end after a chunk', bytes: chunked('5\r\nhello0\r\n\r\n') },
  { name: 'trailer', bytes: chunked('5\r\nhello\r\n0\r\nX: y\r\n\r\n') },
  { name: 'length as a trailer', bytes: chunked(`5\r\nhello\r\n0\r\nContent-Length: 0\r\n\r\n${smuggled}`) },
];

const lines: readonly Case[] = [
  { name: 'bare line feeds', bytes: 'GET / HTTP/1.1\nHost: x\n\n' },
  { name: 'bare carriage return in a header', bytes: post('X: a\rContent-Length: 5\r\n', 'hello') },
  { name: 'head ended by CR CR', bytes: `GET / HTTP/1.1\r\n${host}\r\r${smuggled}` },
  { name: 'head ended by CR and another byte', bytes: `GET / HTTP/1.1\r\n${host}\rX${smuggled}` },
  { name: 'garbage after a request', bytes: `${get()}\rX` },
  { name: 'empty lines before the request', bytes: `\r\n\r\n${get()}` },
  { name: 'NUL in a value', bytes: post('X: a\0b\r\n') },
  { name: 'space in a name', bytes: post('X Y: a\r\n') },
  { name: 'line without a colon', bytes: post('X\r\n') },
  { name: 'empty name', bytes: post(': a\r\n') },
  { name: 'folded value', bytes: post('X: a\r\n b\r\n') },
  { name: 'byte over 127 in a value', bytes: post('X: \xe9\r\n') },
];

const requests: readonly Case[] = [
  { name: 'no Host', bytes: get('GET / HTTP/1.1', '') },
  { name: 'two Hosts', bytes: get('GET / HTTP/1.1', `${host}Host: y\r\n`) },
  { name: 'absolute form', bytes: get('GET http://y/ HTTP/1.1') },
  { name: 'space in the target', bytes: get('GET /a b HTTP/1.1') },
  { name: 'control byte in the target', bytes: get('GET /a\x01b HTTP/1.1') },
  { name: 'unknown method', bytes: get('FOO / HTTP/1.1') },
  { name: 'method in lower case', bytes: get('get / HTTP/1.1') },
  { name: 'HTTP/0.9', bytes: 'GET /\r\n\r\n' },
  { name: 'HTTP/1.0', bytes: get('GET / HTTP/1.0') },
  { name: 'HTTP/1.0 with keep-alive', bytes: get('GET / HTTP/1.0', 'Connection: keep-alive\r\n') },
  { name: 'HTTP/1.2', bytes: get('GET / HTTP/1.2') },
  { name: 'HTTP/2 preface', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  { name: 'HEAD', bytes: get('HEAD / HTTP/1.1') },
  { name: 'CONNECT', bytes: get('CONNECT x:443 HTTP/1.1') },
  { name: 'Expect: 100-continue', bytes: post('Content-Length: 5\r\nExpect: 100-continue\r\n') },
  { name: 'unknown expectation', bytes: post('Content-Length: 5\r\nExpect: x\r\n', 'hello') },
  { name: '20 KB of headers', bytes: post(`X: ${'a'.repeat(20_000)}\r\n`) },
  { name: '2,100 short headers', bytes: post('a:\r\n'.repeat(2_100)) },
];

const upgrade = get('GET / HTTP/1.1', `${host}Connection: upgrade\r\nUpgrade: websocket\r\n`);
const connections: readonly Case[] = [
  { name: 'two requests at once', bytes: get() + smuggled },
  { name: 'upgrade', bytes: upgrade },
  { name: 'request after an upgrade', bytes: upgrade + smuggled },
  { name: 'request after CONNECT', bytes: get('CONNECT x:443 HTTP/1.1') + smuggled },
  { name: 'request after Connection: close', bytes: post('Connection: close\r\n', smuggled) },
  { name: 'half-close after a request', bytes: get(), isHalfClosed: true },
  { name: 'half-close within a body', bytes: post('Content-Length: 9\r\n', 'hello'), isHalfClosed: true },
];

/** Tells what the listener understood. */
const echo: Relay = ({ method, url, headers, body }, answer) => {
  const text = `<${method} ${url} ${headers.length / 2} headers "${body.toString('latin1')}">`;
  answer.send(200, [], Buffer.from(text, 'latin1'));
};

async function understood(port: number, { bytes, isHalfClosed }: Case): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  let isClosed = false;
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  for (const event of ['end', 'close'])
    socket.on(event, () => {
      isClosed = true;
    });
  socket.write(bytes, 'latin1');
  if (isHalfClosed) socket.end();
  await new Promise((resolve) => setTimeout(resolve, SILENCE_MS));
  socket.destroy();
  const told = received.match(/HTTP\/1\.1 \d+|<[^>]*>/g) ?? [];
  return [...told.map((part) => part.replace('HTTP/1.1 ', '')), isClosed ? 'closed' : 'open'].join(' ');
}

const portOf = async (server: ReturnType<typeof listenHttp>) => {
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};
const http = await portOf(listenHttp(echo, 'two'));
const net = await portOf(listenNet(echo, 'two', forwardedHeads));
const cases = [...length, ...encoding, ...chunks, ...lines, ...requests, ...connections];
const rows = await Promise.all(
  cases.map(async (one) => ({ ...one, http: await understood(http, one), net: await understood(net, one) })),
);
for (const row of rows) console.log(`${row.http === row.net ? ' ' : '≠'} ${row.name.padEnd(36)} ${row.http}`);
console.log('\nOther at the listener on net:');
for (const row of rows) if (row.http !== row.net) console.log(`  ${row.name.padEnd(36)} ${row.net}`);
console.log(`\n${rows.length} requests, ${rows.filter((row) => row.http !== row.net).length} differences`);
process.exit(0);
