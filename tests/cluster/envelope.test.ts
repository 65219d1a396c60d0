/** Requests that one process hands to another: nobody else can make them, and each is good once. */
import { describe, expect, it } from 'vitest';
import { Envelopes } from '../../src/cluster/envelope.ts';
import { createSealFor } from '../../src/store/seal.ts';
import { verifies } from '../requirements/verifies.ts';

const request = { to: '1', method: 'POST', url: '/mcp' };
const envelope = { ...request, from: '0', principal: 'key:ada', address: '192.0.2.7' };

function envelopes(secret = 'one', now = { at: 1000 }) {
  let ids = 0;
  return new Envelopes({
    seal: createSealFor('forward', secret),
    timeOfDay: () => now.at,
    newId: () => `${secret}-${++ids}`,
  });
}

describe('an envelope', verifies('gateway:workers:forwarded'), () => {
  it('says for whom the request is', () => {
    const [from, to] = [envelopes(), envelopes()];
    expect(to.open(from.write(envelope), request)).toMatchObject({ principal: 'key:ada', address: '192.0.2.7' });
  });

  it('is good once', () => {
    const [from, to] = [envelopes(), envelopes()];
    const text = from.write(envelope);
    expect(to.open(text, request)).toBeDefined();
    expect(to.open(text, request)).toBeUndefined();
  });

  it.each([
    { name: 'another process', asked: { ...request, to: '0' } },
    { name: 'another method', asked: { ...request, method: 'DELETE' } },
    { name: 'another address', asked: { ...request, url: '/servers/b/mcp' } },
  ])('is not good for $name', ({ asked }) => {
    expect(envelopes().open(envelopes().write(envelope), asked)).toBeUndefined();
  });

  it('expires', () => {
    const now = { at: 1000 };
    const text = envelopes('one', now).write(envelope);
    now.at += 11_000;
    expect(envelopes('one', now).open(text, request)).toBeUndefined();
  });

  it('of a gateway with another key, or that was changed, is not good', () => {
    expect(envelopes().open(envelopes('two').write(envelope), request)).toBeUndefined();
    const text = envelopes().write(envelope);
    expect(envelopes().open(`${text.slice(0, -2)}AA`, request)).toBeUndefined();
  });
});
