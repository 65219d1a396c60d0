/** The subscriptions of one session at a modern backend: one stream for all of them. */
import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { CallRequest, CallSink } from '../../src/exchange/call.ts';
import { ourselves } from '../../src/exchange/own-call.ts';
import { ownNotification } from '../../src/subscriptions/notifications.ts';
import { UpstreamSubscription } from '../../src/subscriptions/upstream-subscription.ts';
import { nothingWanted, readFilter } from '../../src/wire/subscription-filter.ts';
import { verifies } from '../requirements/verifies.ts';
import { ManualClock } from '../upstream/support/clock.ts';

interface Stream {
  readonly uris: readonly string[];
  readonly sink: CallSink;
  cancelled: boolean;
}

class House {
  readonly clock = new ManualClock();
  readonly streams: Stream[] = [];
  readonly heard: string[] = [];
  readonly listening = new UpstreamSubscription(nothingWanted, {
    client: ourselves,
    clock: this.clock,
    start: ({ message }: CallRequest, sink) => {
      const stream = { uris: readFilter(message)?.resourceSubscriptions ?? [], sink, cancelled: false };
      this.streams.push(stream);
      return {
        cancel: () => {
          stream.cancelled = true;
        },
      };
    },
    deliver: (_message, { params, bytes }) => {
      const span = params?.members.find(({ key }) => key === 'uri');
      if (span !== undefined) this.heard.push(JSON.parse(Buffer.from(bytes.slice(span.start, span.end)).toString()));
    },
  });

  acknowledge(stream: Stream | undefined): void {
    const notifications = { resourceSubscriptions: stream?.uris };
    stream?.sink.notify(ownNotification('notifications/subscriptions/acknowledged', { notifications }));
  }

  async turn(): Promise<void> {
    await new Promise((resolve) => this.clock.soon(() => resolve(undefined)));
  }
}

const updated = (uri: string) => ownNotification('notifications/resources/updated', { uri });

describe('subscribing', verifies('gateway:bridge:subscribe-to-listen'), () => {
  it('to several at once opens one stream for all', async () => {
    const house = new House();
    const all = ['a:1', 'a:2', 'a:3'].map((uri) => house.listening.subscribe(uri));
    await house.turn();
    expect(house.streams.map(({ uris }) => uris)).toEqual([['a:1', 'a:2', 'a:3']]);
    house.acknowledge(house.streams[0]);
    await Promise.all(all);
  });

  it('does not fail because a later one was acknowledged first', async () => {
    const house = new House();
    const first = house.listening.subscribe('a:1');
    await house.turn();
    const second = house.listening.subscribe('a:2');
    await house.turn();
    expect(house.streams.map(({ uris }) => uris)).toEqual([['a:1'], ['a:1', 'a:2']]);
    house.acknowledge(house.streams[1]);
    await Promise.all([first, second]);
    expect(house.streams.map(({ cancelled }) => cancelled)).toEqual([true, false]);
    for (const uri of ['a:1', 'a:2']) house.streams[1]?.sink.notify(updated(uri));
    expect(house.heard).toEqual(['a:1', 'a:2']);
  });

  it('ends with the session: nothing is opened afterwards', async () => {
    const house = new House();
    const pending = house.listening.subscribe('a:1').catch(({ reason }) => reason);
    house.listening.close();
    await house.turn();
    expect(await pending).toBe('backend_unavailable');
    expect(await house.listening.subscribe('a:2').catch(({ reason }) => reason)).toBe('backend_unavailable');
    expect(house.streams).toEqual([]);
  });
});

describe('a stream that was ended for flooding', () => {
  it('is opened at once again after the next one has stood', verifies('gateway:backend:flood-backs-off'), async () => {
    const house = new House();
    const end = (reason: 'backend_flooding' | 'backend_unavailable') =>
      house.streams.at(-1)?.sink.settle({ kind: 'failure', failure: new Failure(reason) });
    const subscribed = house.listening.subscribe('a:1');
    await house.turn();
    house.acknowledge(house.streams[0]);
    await subscribed;
    for (let n = 0; n < 5; n++) {
      end('backend_flooding');
      house.clock.advance(30_000);
      house.acknowledge(house.streams.at(-1));
    }
    const before = house.streams.length;
    expect(before).toBe(6);
    house.clock.advance(60_000);
    end('backend_unavailable');
    house.clock.advance(500);
    expect(house.streams).toHaveLength(before + 1);
  });
});
