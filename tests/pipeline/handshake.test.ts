import { describe, expect, test } from 'vitest';
import { buildFullProfile } from '../../src/config/policy-profile.ts';
import type { Discovery } from '../../src/exchange/upstream-session.ts';
import { initializeResult, readInitialize } from '../../src/pipeline/handshake.ts';
import type { Request } from '../../src/wire/message.ts';
import { skimMessage } from '../../src/wire/skim.ts';

/** `params` is JSON text. */
function initialize(params: string, id = 1): Request {
  const message = skimMessage(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"initialize","params":${params}}`));
  if (message.kind !== 'request') throw new Error(`this is a ${message.kind}`);
  return message;
}

const given = (name: string, capabilities = '{}', version = '2025-11-25') =>
  `{"protocolVersion":"${version}","clientInfo":{"name":"${name}","version":"1"},"capabilities":${capabilities}}`;

const endpoint = { profile: buildFullProfile() };

describe('what a client says of itself', () => {
  test('is shared by clients that say the same, byte by byte', () => {
    const profile = { profile: buildFullProfile() };
    const first = readInitialize(initialize(given('a')), profile);
    expect(readInitialize(initialize(given('a'), 22_222), profile)).toBe(first);
  });

  test.each([
    { name: 'another name', params: given('b') },
    { name: 'a name of as many bytes in UTF-8', params: given('\u00e4') },
    { name: 'the same name in another spelling', params: given('\\u0061') },
    { name: 'other capabilities', params: given('a', '{"roots":{}}') },
    { name: 'another revision', params: given('a', '{}', '2025-06-18') },
    { name: 'a space more', params: given('a', '{ }') },
    { name: 'a member more', params: given('a').replace('}}', '},"_meta":{}}') },
  ])('is read anew for $name', ({ params }) => {
    const profile = { profile: buildFullProfile() };
    const first = readInitialize(initialize(given('a')), profile);
    const other = readInitialize(initialize(params), profile);
    expect(other).not.toBe(first);
    // What the first client of a gateway would get.
    expect(other).toEqual(readInitialize(initialize(params), { profile: buildFullProfile() }));
  });

  test('is read for each profile, which decides about the revision', () => {
    // 2025-06-18 has no URL mode.
    const request = initialize(given('a', '{"elicitation":{"url":{}}}'));
    const newer = readInitialize(request, { profile: buildFullProfile({ revisions: ['2025-11-25'] }) });
    const older = readInitialize(request, { profile: buildFullProfile({ revisions: ['2025-06-18'] }) });
    expect(newer).toMatchObject({ revision: '2025-11-25', capabilities: { elicitation: { url: true } } });
    expect(older).toMatchObject({ revision: '2025-06-18', capabilities: { elicitation: undefined } });
  });

  test('is read each time, and the same, where it is long', () => {
    const profile = { profile: buildFullProfile() };
    const params = given('a', `{"experimental":{"x":{"y":"${'z'.repeat(4_096)}"}}}`);
    const first = readInitialize(initialize(params), profile);
    const second = readInitialize(initialize(params), profile);
    expect(second).toEqual(first);
    expect(second).not.toBe(first);
  });

  test('is forgotten when many others came, and read again', () => {
    const profile = { profile: buildFullProfile() };
    const first = readInitialize(initialize(given('a')), profile);
    for (let at = 0; at < 200; at++) readInitialize(initialize(given(`client ${at}`)), profile);
    const again = readInitialize(initialize(given('a')), profile);
    expect(again).toEqual(first);
    expect(again).not.toBe(first);
  });

  test.each([
    { name: 'no revision', params: '{"clientInfo":{"name":"a","version":"1"}}' },
    { name: 'a revision that is no text', params: '{"protocolVersion":1}' },
    { name: 'no parameters', params: '{}' },
  ])('is refused each time with $name', ({ params }) => {
    const profile = { profile: buildFullProfile() };
    for (let round = 0; round < 2; round++) {
      expect(() => readInitialize(initialize(params), profile)).toThrow('protocolVersion is required');
    }
  });
});

describe('the result of initialize', () => {
  const discovery = (name: string): Discovery => ({
    eras: ['legacy'],
    revision: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name, version: '1', icons: [] },
    instructions: undefined,
    rest: {},
  });
  const read = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString());

  test('is written once for all clients of one revision', () => {
    const found = discovery('s');
    expect(initializeResult('2025-11-25', endpoint, found)).toBe(initializeResult('2025-11-25', endpoint, found));
  });

  test('has the revision of each client, in whatever order they come', () => {
    const found = discovery('s');
    for (const revision of ['2025-11-25', '2025-06-18', '2025-11-25', '2024-11-05'] as const) {
      const result = read(initializeResult(revision, endpoint, found));
      expect(result).toEqual(read(initializeResult(revision, endpoint, discovery('s'))));
      expect(result.protocolVersion).toBe(revision);
    }
  });

  test('is that of the backend that was asked', () => {
    const [one, other] = [discovery('one'), discovery('other')];
    for (const found of [one, other, one]) {
      expect(read(initializeResult('2025-11-25', endpoint, found)).serverInfo).toEqual(found.serverInfo);
    }
  });
});
