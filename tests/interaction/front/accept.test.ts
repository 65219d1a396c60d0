/** What a client says that it can read. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { head, RawClient } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { expectRefused, request } from '../harness/behind.ts';
import { type Answer, type Call, open, send } from '../harness/client.ts';
import { initialize, type LegacyClient, modern } from '../harness/eras.ts';
import { withHeaders } from '../modern/setup.ts';
import { type House, launchHouse, tool } from './house.ts';

let house: House;
let live: LegacyClient;
beforeAll(async () => {
  house = await launchHouse();
});
afterAll(() => house.close());
beforeEach(async () => {
  live ??= (await house.connect('/legacy/mcp')).client;
  house.forget();
});

const notAcceptable = (wanted: string) => ({
  code: -32600,
  message: `Not acceptable: the client must accept ${wanted}`,
  reason: 'not_acceptable',
});
const listing = modern({ id: 'x', method: 'tools/list' });

/** The tools that came, in whichever form. */
function toolsIn(answer: Answer): unknown {
  const [event] = answer.events.filter(({ data }) => Boolean(data));
  const message = event === undefined ? answer.json() : event.json();
  return message.result.tools;
}

describe('a lenient profile', verifies('gateway:http:accept-lenient'), () => {
  const JSON_TYPE = 'application/json';
  const SSE_TYPE = 'text/event-stream';
  const cases = [
    { accept: '*/*', type: JSON_TYPE },
    { accept: 'application/json', type: JSON_TYPE },
    { accept: 'application/*', type: JSON_TYPE },
    { accept: 'Application/JSON; q=0.5', type: JSON_TYPE },
    { accept: 'text/html, */*;q=0.1', type: JSON_TYPE },
    { accept: 'text/event-stream', type: SSE_TYPE },
    { accept: 'text/*', type: SSE_TYPE },
    { accept: 'application/json;q=0, text/event-stream', type: SSE_TYPE },
    { accept: '*/*, application/json;q=0', type: SSE_TYPE },
  ];
  describe.each(cases)('serves $type to `$accept`', ({ accept, type }) => {
    it('a modern request', async () => {
      const answer = await send(house.at('/modern/mcp'), withHeaders(listing, { accept }));
      expect({ status: answer.status, type: answer.headers['content-type'] }).toEqual({ status: 200, type });
      expect(toolsIn(answer)).toEqual([tool]);
    });

    it('a legacy request', async () => {
      const answer = await live.post(request(1, 'tools/list'), { accept });
      expect({ status: answer.status, type: answer.headers['content-type'] }).toEqual({ status: 200, type });
      expect(toolsIn(answer)).toEqual([tool]);
    });

    it('`initialize`, whose session id is sent in either form', async () => {
      const answer = await send(house.at('/legacy/mcp'), { body: initialize(), headers: { accept } });
      expect({ status: answer.status, type: answer.headers['content-type'] }).toEqual({ status: 200, type });
      expect(answer.headers['mcp-session-id']).toBeDefined();
    });
  });

  it('serves JSON without an Accept header', async () => {
    const client = new RawClient(Number(new URL(house.gateway.origin).port));
    const body = JSON.stringify(listing.body);
    const headers = { ...listing.headers, 'Content-Type': 'application/json', 'Content-Length': body.length };
    client.send(`${head('POST', '/modern/mcp', headers)}${body}`);
    const text = await client.until('"cacheScope":"private"}}');
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*Content-Type: application\/json\r\n/);
  });

  it.each(['text/html', 'application/json;q=0', 'image/*, text/plain'])('refuses `%s`', async (accept) => {
    const wanted = notAcceptable('application/json and text/event-stream');
    expectRefused(await send(house.at('/modern/mcp'), withHeaders(listing, { accept })), 406, wanted);
    expect(house.modern.bytes).toBe(0);
  });
});

describe('a strict profile', verifies('gateway:http:accept-strict'), () => {
  it.each(['application/json, text/event-stream', 'text/event-stream;q=0.1,application/json;charset=utf-8, */*'])(
    'serves `%s`',
    async (accept) => {
      const answer = await send(house.at('/strict/mcp'), withHeaders(listing, { accept }));
      expect(answer.status).toBe(200);
      expect(toolsIn(answer)).toEqual([tool]);
    },
  );

  it.each([
    'application/json',
    'text/event-stream',
    '*/*',
    'application/*, text/*',
    'application/json, text/event-stream;q=0',
  ])('refuses `%s`', async (accept) => {
    const wanted = notAcceptable('application/json and text/event-stream');
    expectRefused(await send(house.at('/strict/mcp'), withHeaders(listing, { accept })), 406, wanted);
    expect(house.modern.bytes).toBe(0);
  });
});

describe('JSON alone', verifies('gateway:http:accept-json-alone'), () => {
  const listen = modern({ id: 'x', method: 'subscriptions/listen', params: { notifications: {} } });

  it.each(['application/json', 'application/json, text/event-stream;q=0'])(
    'is not enough for a subscription: `%s`',
    async (accept) => {
      expectRefused(await send(house.at('/modern/mcp'), withHeaders(listen, { accept })), 406, {
        code: -32600,
        message: 'Not acceptable: the response is an event stream',
        reason: 'not_acceptable',
        id: 'x',
      });
      expect(house.modern.bytes).toBe(0);
    },
  );

  it.each(['/legacy/mcp', '/legacy/sse'])('is not enough for GET of %s', async (path) => {
    const call: Call = { method: 'GET', headers: { ...live.headers, accept: 'application/json' } };
    expectRefused(await send(house.at(path), call), 406, notAcceptable('text/event-stream'));
    const wildcard = await open(house.at(path), { ...call, headers: { ...live.headers, accept: '*/*' } });
    expect({ status: wildcard.status, type: wildcard.headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/event-stream',
    });
  });
});
