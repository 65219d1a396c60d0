import { describe, expect, test } from 'vitest';
import { LastInitialize } from '../../src/upstream/discovery.ts';
import type { ResultResponse } from '../../src/wire/message.ts';
import { skimMessage } from '../../src/wire/skim.ts';

function response(result: object): ResultResponse {
  return skimMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))) as ResultResponse;
}

const answered = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 's', version: '1' },
};

describe('the last initialize result of a backend', () => {
  test('the same result again gives the same discovery, without another copy', () => {
    const last = new LastInitialize();
    expect(last.read(response(answered))).toBe(last.read(response(answered)));
  });

  test('a different result is read anew, and so is the first one after it', () => {
    const last = new LastInitialize();
    const other = { ...answered, capabilities: { prompts: {} } };
    expect(last.read(response(answered)).capabilities).toEqual({ tools: {} });
    expect(last.read(response(other)).capabilities).toEqual({ prompts: {} });
    expect(last.read(response(answered)).capabilities).toEqual({ tools: {} });
  });

  test('a result that is refused is refused again, and the one before it stays', () => {
    const last = new LastInitialize();
    const good = last.read(response(answered));
    const bad = { ...answered, protocolVersion: '1999-01-01' };
    expect(() => last.read(response(bad))).toThrow('does not know');
    expect(() => last.read(response(bad))).toThrow('does not know');
    expect(last.read(response(answered))).toBe(good);
  });

  test('a long result is not kept', () => {
    const last = new LastInitialize();
    const long = { ...answered, instructions: 'x'.repeat(100_000) };
    const first = last.read(response(long));
    expect(last.read(response(long))).toEqual(first);
    expect(last.read(response(long))).not.toBe(first);
  });
});
