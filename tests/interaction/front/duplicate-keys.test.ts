/**
 * Readers that ignore the case of names: Go's `encoding/json` and System.Text.Json take `Name` for `name`, and the last
 * one wins. What policy has judged must be what such a backend reads.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { ambiguousCalls, meta, toolCall } from '../harness/ambiguous.ts';
import { refusal } from '../harness/behind.ts';
import { type Json, send } from '../harness/client.ts';
import { eras, initialize, type LegacyClient, modernHeaders } from '../harness/eras.ts';
import { configFile, StdioClient } from '../harness/program.ts';
import { SseClient } from '../harness/sse-client.ts';
import { type House, launchHouse } from './house.ts';

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

function post(era: 'legacy' | 'modern', body: string, method = 'tools/call') {
  const headers = era === 'modern' ? modernHeaders(method, method === 'tools/call' ? 'work' : undefined) : live.headers;
  return send(house.at(`/${era}/mcp`), { body, headers });
}

const refused = (name: string, word: string, offset: number | undefined): Json =>
  refusal({
    code: -32600,
    message: `${name} differs from ${word} only in case`,
    reason: 'ambiguous_json',
    id: 7,
    ...(offset === undefined ? {} : { data: { offset } }),
  });

describe('a name that differs from one of the protocol in case alone', verifies('gateway:json:case-twins'), () => {
  describe.each(eras)('%s', (era) => {
    it.each(ambiguousCalls)('is refused: $name', async ({ name, word, ...places }) => {
      const answer = await post(era, toolCall(places));
      const body = answer.json();
      expect(answer.status).toBe(400);
      expect(body).toEqual(refused(name, word, body.error.data.offset));
      expect(house.legacy.bytes + house.modern.bytes).toBe(0);
    });
  });

  it('is refused where the name itself is missing', async () => {
    const body = toolCall({}).replace('"name":"work"', '"Name":"work"');
    const answer = await post('legacy', body);
    expect(answer.json()).toEqual(refused('Name', 'name', answer.json().error.data.offset));
    expect(house.legacy.bytes).toBe(0);
  });

  it('is refused in notifications and in responses', async () => {
    const bodies = [
      '{"jsonrpc":"2.0","method":"notifications/initialized","Method":"notifications/cancelled"}',
      '{"jsonrpc":"2.0","id":1,"result":{"action":"decline","Action":"accept"}}',
    ];
    for (const body of bodies) {
      const answer = await live.post(body);
      expect({ status: answer.status, reason: answer.json().error.data.reason }).toEqual({
        status: 400,
        reason: 'ambiguous_json',
      });
    }
    expect(house.legacy.bytes).toBe(0);
  });

  it('is refused in a member of a batch, and with it the batch', async () => {
    const { client } = await house.connect('/batches/mcp', { revision: '2025-03-26' });
    house.forget();
    const answer = await client.post(`[${toolCall({})},${toolCall({ inParams: ',"Name":"other"' })}]`);
    expect({ status: answer.status, reason: answer.json().error.data.reason }).toEqual({
      status: 400,
      reason: 'ambiguous_json',
    });
    expect(house.legacy.bytes).toBe(0);
  });

  it.each([
    { member: 'ref', inside: '"type":"ref/prompt","name":"a","Name":"b"', word: 'Name differs from name' },
    { member: 'ref', inside: '"type":"ref/resource","uri":"a:b","URI":"c:d"', word: 'URI differs from uri' },
    { member: 'ref', inside: '"type":"ref/prompt","Type":"ref/resource","name":"a"', word: 'Type differs from type' },
  ])('is refused in a reference: $word', async ({ inside, word }) => {
    for (const era of eras) {
      const params = `"ref":{${inside}},"argument":{"name":"x","value":""},"_meta":{${meta}}`;
      const body = `{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{${params}}}`;
      const answer = await post(era, body, 'completion/complete');
      expect({ status: answer.status, body: answer.json() }).toEqual({
        status: 400,
        body: refusal({ code: -32600, message: `${word} only in case`, reason: 'ambiguous_json', id: 7 }),
      });
    }
    expect(house.legacy.bytes + house.modern.bytes).toBe(0);
  });

  it('is refused in the filter of a subscription', async () => {
    const filter = '"resourceSubscriptions":["a:b"],"ResourceSubscriptions":["secret:x"]';
    const params = `"notifications":{${filter}},"_meta":{${meta}}`;
    const body = `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{${params}}}`;
    const answer = await post('modern', body, 'subscriptions/listen');
    expect({ status: answer.status, reason: answer.json().error.data.reason }).toEqual({
      status: 400,
      reason: 'ambiguous_json',
    });
    expect(house.modern.bytes).toBe(0);
  });

  it('is refused over HTTP+SSE and over stdio', async () => {
    const older = await SseClient.connect(house.at('/legacy/sse'));
    house.forget();
    const sent = await older.post(toolCall({ inParams: ',"Name":"other"' }));
    expect({ status: sent.status, reason: sent.json().error.data.reason }).toEqual({
      status: 400,
      reason: 'ambiguous_json',
    });
    older.close();

    const client = new StdioClient(configFile({ backends: { b: { url: house.legacy.url } } }));
    await client.ask(initialize());
    client.say(toolCall({ inParams: ',"Name":"other"' }));
    const answer = await client.message(({ id }) => id === 7);
    expect(answer.error.data.reason).toBe('ambiguous_json');
    expect(house.legacy.of('tools/call')).toHaveLength(0);
  });
});

describe('a reference of one kind', verifies('gateway:json:stray-reference'), () => {
  it.each([
    { inside: '"type":"ref/prompt","name":"a","uri":"secret:x"', message: 'ref/prompt must not have uri' },
    { inside: '"type":"ref/resource","uri":"a:b","name":"secret"', message: 'ref/resource must not have name' },
  ])('is refused with the member of the other: $message', async ({ inside, message }) => {
    for (const era of eras) {
      const params = `"ref":{${inside}},"argument":{"name":"x","value":""},"_meta":{${meta}}`;
      const body = `{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{${params}}}`;
      const answer = await post(era, body, 'completion/complete');
      expect({ status: answer.status, body: answer.json() }).toEqual({
        status: 400,
        body: refusal({ code: -32600, message, reason: 'ambiguous_json', id: 7 }),
      });
    }
    expect(house.legacy.bytes + house.modern.bytes).toBe(0);
  });
});

it('names that differ in case alone are data elsewhere', verifies('gateway:json:case-is-data'), async () => {
  const args = '{"Name":1,"name":2,"headers":{"Accept":"a","accept":"b"},"\u017f":1,"s":2,"Method":[{"ID":1,"id":2}]}';
  for (const era of eras) {
    const body = toolCall({ inParams: ',"x-Note":1,"X-note":2', inMeta: ',"a":1,"A":2' }, args);
    const answer = await post(era, era === 'modern' ? body : body.replace(meta, '"b":0'));
    expect(answer.json().result.content[0].text).toBe(JSON.stringify(JSON.parse(args)));
    const [received] = (era === 'legacy' ? house.legacy : house.modern).of('tools/call');
    expect(received?.text).toContain(`"arguments":${args},"x-Note":1,"X-note":2`);
    expect(received?.text).toContain('"a":1,"A":2');
  }
});

describe('too many members', verifies('gateway:json:too-many-members'), () => {
  const crowd = (count: number) => Array.from({ length: count }, (_, at) => `,"k${at}":0`).join('');

  it.each([
    { where: 'the message', places: (many: string) => ({ beside: many }) },
    { where: 'params', places: (many: string) => ({ inParams: many }) },
    { where: '_meta', places: (many: string) => ({ inMeta: many }) },
  ])('is refused in $where, and served below the limit', async ({ where, places }) => {
    const answer = await post('modern', toolCall(places(crowd(1025))));
    const { offset } = answer.json().error.data;
    // What is behind the crowd was not read.
    const id = { id: 7 };
    expect({ where, status: answer.status, body: answer.json() }).toEqual({
      where,
      status: 400,
      body: refusal({ code: -32600, message: 'Too many members', reason: 'too_many_members', data: { offset }, ...id }),
    });
    expect(house.modern.bytes).toBe(0);
    expect((await post('modern', toolCall(places(crowd(1000))))).json().result.isError).toBeUndefined();
  });

  it('is served in arguments', async () => {
    const args = `{"a":0${crowd(5000)},"${'n'.repeat(70_000)}":1}`;
    expect((await post('modern', toolCall({}, args))).json().result.content[0].text).toBe(args);
  });

  it.each([
    { where: 'the message', places: (name: string) => ({ beside: name }) },
    { where: 'params', places: (name: string) => ({ inParams: name }) },
    { where: '_meta', places: (name: string) => ({ inMeta: name }) },
  ])('is the refusal of names of more than 64 KiB in $where', async ({ places }) => {
    const long = (bytes: number) => `,"${'n'.repeat(bytes)}":0,"${'\\n'.repeat(500)}":0`;
    for (const era of eras) {
      const answer = await post(era, toolCall(places(long(65_536))));
      expect({ era, ...answer.json().error.data }).toMatchObject({ era, reason: 'too_many_members' });
    }
    expect(house.legacy.bytes + house.modern.bytes).toBe(0);
    expect((await post('modern', toolCall(places(long(60_000))))).json().result.isError).toBeUndefined();
  });

  it.each([
    { method: 'completion/complete', key: 'ref', args: ',"argument":{"name":"a","value":"b"}' },
    { method: 'subscriptions/listen', key: 'notifications', args: '' },
  ])('is refused in the $key of a $method', async ({ method, key, args }) => {
    const value = `{"type":"ref/prompt","name":"p"${crowd(1025)}}`;
    const body = `{"jsonrpc":"2.0","id":7,"method":"${method}","params":{"${key}":${value}${args},"_meta":{${meta}}}}`;
    const answer = await post('modern', body, method);
    expect({ id: answer.json().id, ...answer.json().error.data }).toMatchObject({ id: 7, reason: 'too_many_members' });
    expect(house.modern.bytes).toBe(0);
  });
});
