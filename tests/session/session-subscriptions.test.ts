import { describe, expect, test } from 'vitest';
import { SessionSubscriptions } from '../../src/session/session-subscriptions.ts';

const limits = { subscriptionsPerClient: 2, subscriptionBytesPerClient: 1000 };
const at = (name: string) => ({ backend: 'b', name });

describe('the subscriptions of a session', () => {
  test('stay while one of several requests for the same resource may be accepted', () => {
    const subscriptions = new SessionSubscriptions(limits);
    const [first, second] = [subscriptions.reserve('x', at('x')), subscriptions.reserve('x', at('x'))];
    first(false);
    second(true);
    expect(subscriptions.at('b')).toEqual(['x']);
    subscriptions.reserve('y', at('y'))(true);
    expect(() => subscriptions.reserve('z', at('z'))).toThrow(/subscribe to 2 resources/);
  });

  test('give their place back when every request was refused', () => {
    const subscriptions = new SessionSubscriptions(limits);
    for (let n = 0; n < 10; n++) {
      const over = [subscriptions.reserve(`x${n}`, at('x')), subscriptions.reserve(`x${n}`, at('x'))];
      for (const end of over) end(false);
    }
    expect(subscriptions.at('b')).toEqual([]);
    expect(subscriptions.backendOf('x0')).toBeUndefined();
  });

  test('are kept where a second request for an accepted one is refused', () => {
    const subscriptions = new SessionSubscriptions(limits);
    subscriptions.reserve('x', at('x'))(true);
    subscriptions.reserve('x', at('x'))(false);
    expect(subscriptions.at('b')).toEqual(['x']);
  });
});
