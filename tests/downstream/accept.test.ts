import { describe, expect, it } from 'vitest';
import { checkPost, checkStream, readAccept } from '../../src/downstream/accept.ts';
import { endpoint } from './harness.ts';

const lenient = endpoint.profile;
const strict = { ...lenient, accept: 'strict' } as const;

/** What is served: j(son), s(treams); in a strict profile, what a POST and a GET may have. */
const table = [
  { header: undefined, json: true, sse: true, strictPost: false, strictGet: false },
  { header: '', json: true, sse: true, strictPost: false, strictGet: false },
  { header: '*/*', json: true, sse: true, strictPost: false, strictGet: false },
  { header: 'application/json, text/event-stream', json: true, sse: true, strictPost: true, strictGet: true },
  { header: 'text/event-stream,application/json', json: true, sse: true, strictPost: true, strictGet: true },
  { header: 'Application/JSON , Text/Event-Stream', json: true, sse: true, strictPost: true, strictGet: true },
  {
    header: 'application/json;q=0.9, text/event-stream;q=0.1',
    json: true,
    sse: true,
    strictPost: true,
    strictGet: true,
  },
  { header: 'application/json', json: true, sse: false, strictPost: false, strictGet: false },
  { header: 'text/event-stream', json: false, sse: true, strictPost: false, strictGet: true },
  { header: 'text/*', json: false, sse: true, strictPost: false, strictGet: false },
  { header: 'application/*', json: true, sse: false, strictPost: false, strictGet: false },
  { header: 'application/json;q=0, */*', json: false, sse: true, strictPost: false, strictGet: false },
  { header: '*/*;q=0.1, text/event-stream;q=0', json: true, sse: false, strictPost: false, strictGet: false },
  { header: 'text/html, image/png', json: false, sse: false, strictPost: false, strictGet: false },
  { header: 'application/json;q=nonsense', json: true, sse: false, strictPost: false, strictGet: false },
  { header: 'application/json; charset=utf-8; q=1', json: true, sse: false, strictPost: false, strictGet: false },
  { header: ',;,q=1,/', json: false, sse: false, strictPost: false, strictGet: false },
  { header: 'application/jsonp, text/event-streams', json: false, sse: false, strictPost: false, strictGet: false },
];

describe('Accept', () => {
  it.each(table)('reads $header', ({ header, json, sse, strictPost, strictGet }) => {
    const accepted = readAccept(header);
    expect({ json: accepted.json, sse: accepted.sse }).toEqual({ json, sse });
    expect(checkPost(accepted, lenient) === undefined).toBe(json || sse);
    expect(checkStream(accepted, lenient) === undefined).toBe(sse);
    expect(checkPost(accepted, strict) === undefined).toBe(strictPost);
    expect(checkStream(accepted, strict) === undefined).toBe(strictGet);
  });
});
