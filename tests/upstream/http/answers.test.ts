import { afterEach, describe, expect, it } from 'vitest';
import { RequestRecorder, text } from '../support/recorders.ts';
import {
  type Answer,
  against,
  bare,
  channelLimits,
  event,
  json,
  progress,
  request,
  result,
  sse,
  sseCut,
  sseEnd,
} from '../support/scripted-http.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Row {
  readonly name: string;
  readonly answer: Answer;
  readonly ending: string;
  readonly status?: number | undefined;
  readonly messages?: readonly string[];
  readonly noise?: readonly string[];
}

const html: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end('<h1>It works!</h1>');
};
const nope = '{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}';
const rows: readonly Row[] = [
  { name: 'a JSON body with our id is the answer', answer: json(200, result(1)), ending: 'answered', status: 200 },
  {
    name: 'pretty-printed JSON is an answer',
    answer: json(200, JSON.stringify(JSON.parse(result(1)), null, 2)),
    ending: 'answered',
  },
  {
    name: 'a body without a content type is tried as JSON',
    answer: (response) => {
      response.writeHead(200);
      response.end(result(1));
    },
    ending: 'answered',
  },
  {
    name: 'media types are compared without regard to case and parameters',
    answer: json(200, result(1), { 'content-type': 'Application/JSON ; charset="utf-8"' }),
    ending: 'answered',
  },
  {
    name: 'an array from a 2025-03-26 backend is read',
    answer: json(200, `[${progress}, ${result(1)}]`),
    ending: 'answered',
    messages: ['notifications/progress'],
  },
  {
    name: 'an error without id settles the POST that it answers',
    answer: json(400, nope),
    ending: 'answered',
    status: 400,
  },
  {
    name: 'an error with id null settles the POST that it answers',
    answer: json(404, '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'),
    ending: 'answered',
    status: 404,
  },
  {
    name: 'a response to another request is dropped, and the request stays unanswered',
    answer: json(200, result(7)),
    ending: 'failed backend_invalid',
    noise: ['unknown_id'],
  },
  { name: '202 is no answer', answer: bare(202), ending: 'failed backend_invalid', status: 202 },
  { name: '204 is no answer', answer: bare(204), ending: 'failed backend_invalid', status: 204 },
  { name: 'an empty body is no answer', answer: json(200, ''), ending: 'failed backend_invalid', status: 200 },
  { name: 'an empty stream is no answer', answer: sseEnd(), ending: 'failed backend_invalid' },
  { name: 'HTML is no answer', answer: html, ending: 'failed backend_invalid', status: 200 },
  {
    name: 'garbage is no answer',
    answer: json(200, '{"jsonrpc":"2.0","id":1,"result":{'),
    ending: 'failed backend_invalid',
  },
  {
    name: 'a JSON value that is no JSON-RPC is no answer',
    answer: json(200, '"ok"'),
    ending: 'failed backend_invalid',
  },
  {
    name: 'a body over the limit is refused at its declared length',
    answer: json(200, `{"jsonrpc":"2.0","id":1,"result":{"x":"${'y'.repeat(channelLimits.resultBytes)}"}}`, {
      'content-length': String(channelLimits.resultBytes + 43),
    }),
    ending: 'failed backend_too_large',
  },
  {
    name: 'a body over the limit is refused while it comes',
    answer: (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      for (let i = 0; i < 5; i++) response.write('x'.repeat(channelLimits.resultBytes / 4));
    },
    ending: 'failed backend_too_large',
  },
  {
    name: 'headers over the limit are refused',
    answer: json(200, result(1), { 'x-much': 'y'.repeat(32 * 1024) }),
    ending: 'failed backend_too_large',
  },
  {
    name: '401 without a message is an unavailable backend',
    answer: bare(401),
    ending: 'failed backend_unavailable',
    status: 401,
  },
  {
    name: '403 with foreign JSON is an unavailable backend',
    answer: json(403, '{"error":"no"}'),
    ending: 'failed backend_unavailable',
    status: 403,
  },
  { name: '500 is an unavailable backend', answer: bare(500), ending: 'failed backend_unavailable', status: 500 },
  { name: '503 with a JSON-RPC error is an answer', answer: json(503, nope), ending: 'answered', status: 503 },
  {
    name: '404 without a message is a lost session',
    answer: bare(404),
    ending: 'failed backend_session_lost',
    status: 404,
  },
  {
    name: '400 without a message is an invalid answer',
    answer: bare(400),
    ending: 'failed backend_invalid',
    status: 400,
  },
  {
    name: 'a redirect is not followed',
    answer: (response) => {
      response.writeHead(307, { location: '/elsewhere' });
      response.end();
    },
    ending: 'failed backend_invalid',
    status: 307,
  },
  {
    name: 'a connection that is cut before the head',
    answer: (_response, _heard, socket) => socket.resetAndDestroy(),
    ending: 'failed backend_unavailable',
    status: undefined,
  },
  {
    name: 'a body that is cut in the middle',
    answer: (response, _heard, socket) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"jsonrpc":', () => socket.resetAndDestroy());
    },
    ending: 'failed backend_unavailable',
  },
  {
    name: 'something that is no HTTP',
    answer: (_response, _heard, socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
    ending: 'failed backend_invalid',
  },
  {
    name: 'messages on the stream come before the answer',
    answer: sseEnd(event(progress), ': keep-alive\n\n', event(result(1))),
    ending: 'answered',
    messages: ['notifications/progress'],
  },
  {
    name: 'a stream with CRLF, a BOM and a named event is read',
    answer: sseEnd(`\ufeffevent: message\r\ndata: ${result(1)}\r\n\r\n`),
    ending: 'answered',
  },
  { name: 'a stream with CR alone is read', answer: sseEnd(`data: ${result(1)}\r\r`), ending: 'answered' },
  {
    name: 'pretty-printed JSON over several data lines is read',
    answer: sseEnd(`data: {"jsonrpc":"2.0",\ndata:   "id": 1,\ndata:   "result": {}}\n\n`),
    ending: 'answered',
  },
  {
    name: 'events of other types and without data are passed over',
    answer: sseEnd('event: ping\ndata: {}\n\n', 'id: 1\ndata:\n\n', event(result(1))),
    ending: 'answered',
  },
  {
    name: 'an unreadable event is skipped and noted',
    answer: sseEnd(event('hello'), event(result(1))),
    ending: 'answered',
    noise: ['unreadable'],
  },
  {
    name: 'a result that is no object fails its request at once',
    answer: sse(event('{"jsonrpc":"2.0","id":1,"result":5}')),
    ending: 'failed backend_invalid',
    noise: ['unreadable'],
  },
  {
    name: 'a response with result and error fails its request at once',
    answer: sse(event('{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"no"}}')),
    ending: 'failed backend_invalid',
    noise: ['unreadable'],
  },
  {
    name: 'an unreadable response to another request is skipped and noted',
    answer: sseEnd(event('{"jsonrpc":"2.0","id":2,"result":5}'), event(result(1))),
    ending: 'answered',
    noise: ['unreadable'],
  },
  {
    name: 'a response that comes twice is read once',
    answer: sseEnd(event(result(1)), event(result(1))),
    ending: 'answered',
    noise: ['unknown_id'],
  },
  {
    name: 'responses to other requests on the stream are dropped',
    answer: sseEnd(event(result(2)), event('{"jsonrpc":"2.0","id":"1","result":{}}'), event(result(1))),
    ending: 'answered',
    noise: ['unknown_id', 'unknown_id'],
  },
  {
    name: 'an error without id on the stream settles its POST',
    answer: sseEnd(event(nope)),
    ending: 'answered',
  },
  {
    name: 'an event over the limit ends the request',
    answer: sse(`data: ${'x'.repeat(channelLimits.resultBytes + 1)}`),
    ending: 'failed backend_too_large',
  },
  {
    name: 'a stream without ids that ends early is not resumed',
    answer: sseEnd(event(progress)),
    ending: 'failed backend_unavailable',
    messages: ['notifications/progress'],
  },
  {
    name: 'a stream without ids that is cut in the middle of an event is not resumed',
    answer: sseCut(event(progress), 'data: {"jsonrpc":"2.0","id":1,"res'),
    ending: 'failed backend_unavailable',
    messages: ['notifications/progress'],
  },
];

describe('the response of a backend to a POST', () => {
  it.each(rows)('$name', async (row) => {
    const { channel, notes, backend } = await against(ends, [row.answer]);
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    expect(await sink.settled()).toBe(row.ending);
    if ('status' in row) expect(sink.http?.status).toBe(row.status);
    expect(sink.messages).toEqual(row.messages ?? []);
    // What still comes on the connection has come when it ends.
    await channel.close();
    await backend.until(() => backend.heard.length === 1);
    expect(notes.notes.map((note) => note.kind)).toEqual(row.noise ?? []);
    expect(sink.endings).toHaveLength(1);
  });

  it('whatever the chunks, a stream reads the same', async () => {
    const whole = Buffer.from(
      `id: 1\r\ndata: ${progress}\r\n\r\ndata: {"jsonrpc":"2.0","id":1,"result":{"t":"grüße 🎻"}}\r\n\r\n`,
    );
    const bytewise: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let i = 0; i < whole.byteLength; i++) response.write(whole.subarray(i, i + 1));
      response.end();
    };
    const { channel } = await against(ends, [bytewise]);
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    await sink.settled();
    expect(sink.messages).toEqual(['notifications/progress']);
    expect(sink.response && text(sink.response)).toContain('grüße 🎻');
  });

  it('the session id of the response is reported', async () => {
    const { channel } = await against(ends, [json(200, result(1), { 'mcp-session-id': 'abc' })]);
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    await sink.settled();
    expect(sink.http).toEqual({ status: 200, sessionId: 'abc' });
  });
});

describe('the request to a backend', () => {
  it('the transport’s headers, the configured ones and the request’s own', async () => {
    const { channel, backend } = await against(ends, [json(200, result(1))], {
      headers: { Authorization: 'Bearer t', Accept: 'text/html', 'Content-Type': 'text/plain', 'X-Team': 'a' },
    });
    const sink = new RequestRecorder();
    channel.request(request(1), sink);
    await sink.settled();
    const [heard] = backend.heard;
    expect(heard).toMatchObject({ method: 'POST', url: '/mcp?key=1', body: request(1).bytes.toString() });
    expect(heard?.headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      authorization: 'Bearer t',
      'x-team': 'a',
      'mcp-protocol-version': '2025-11-25',
      'mcp-session-id': 'S',
    });
  });

  it('an invalid header fails only the request', async () => {
    const { channel } = await against(ends, [json(200, result(1))]);
    const sink = new RequestRecorder();
    channel.request({ ...request(1), headers: { 'mcp-name': 'a\nb' } }, sink);
    expect(sink.endings).toEqual([]);
    expect(await sink.settled()).toBe('failed internal_error');
  });
});
