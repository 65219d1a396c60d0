/** How a backend learns that nobody waits for its answer any more. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  cancelled,
  echo,
  Held,
  notification,
  result,
  text,
} from '../harness/behind.ts';
import { begin, send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { messagesOf } from './setup.ts';

const params = { name: 'work', arguments: {} };

describe('a modern HTTP backend', verifies('client-transport:http:cancel-closes-stream'), () => {
  it.each([
    { name: 'before it answered', answer: () => undefined },
    { name: 'in the middle of its stream', answer: (held: Held) => void held.turns[0]?.stream() },
  ])('has its response closed $name, and gets nothing posted', async ({ answer }) => {
    const held = new Held();
    const { url, backend } = await behindModern({
      'tools/call': held.take,
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
    });
    const request = begin(url, modern({ id: 1, method: 'tools/call', params }));
    const turn = await held.nth(1);
    answer(held);
    const before = backend.received.length;
    request.drop();
    await turn.closed;
    // Whatever would have been posted was posted before this.
    await send(url, modern({ id: 2, method: 'tools/list' }));
    expect(backend.received.slice(before).map(({ message }) => message.method)).toEqual(['tools/list']);
  });

  it('has it closed for a legacy client that cancels, too', async () => {
    const held = new Held();
    const { url, backend } = await behindModern({
      'tools/call': held.take,
      'prompts/list': (turn) => turn.result({ resultType: 'complete', prompts: [] }),
    });
    const client = await connectLegacy(url);
    const running = client.post(call(1));
    const turn = await held.nth(1);
    expect((await client.post(cancelled(1))).status).toBe(202);
    await turn.closed;
    expect(messagesOf(await running)).toEqual([]);
    await client.post({ jsonrpc: '2.0', id: 2, method: 'prompts/list' });
    expect(backend.of('notifications/cancelled')).toEqual([]);
  });
});

describe('a legacy HTTP backend', verifies('client-transport:http:cancel-posts-frame'), () => {
  it('gets exactly one notifications/cancelled, with its own id and the reason', async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ ...echo, 'tools/call': held.take });
    const client = await connectLegacy(url);
    const running = client.post(call('mine'));
    const turn = await held.nth(1);
    await client.post(cancelled('mine', 'too slow'));
    const frame = await backend.arrival('notifications/cancelled');
    expect(frame.message).toEqual(
      notification('notifications/cancelled', { requestId: turn.message.id, reason: 'too slow' }),
    );
    expect(frame.headers['mcp-session-id']).toBe('upstream-2');
    // Said again, and said of what is over: nothing more goes out.
    await client.post(cancelled('mine', 'too slow'));
    await running;
    const next = client.post(call(2));
    (await held.nth(2)).result(text('done'));
    expect((await next).json()).toEqual(result(2, text('done')));
    expect(backend.of('notifications/cancelled')).toHaveLength(1);
  });

  it('gets it for a modern client that closes its stream, too', async () => {
    const held = new Held();
    const { url, backend } = await behindLegacy({
      'tools/call': held.take,
      'tools/list': (turn) => turn.result({ tools: [] }),
    });
    const request = begin(url, modern({ id: 1, method: 'tools/call', params }));
    const turn = await held.nth(1);
    request.drop();
    const frame = await backend.arrival('notifications/cancelled');
    expect(frame.message.params.requestId).toBe(turn.message.id);
    expect(frame.headers['mcp-session-id']).toBe(turn.received.headers['mcp-session-id']);
    await turn.closed;
    await send(url, modern({ id: 2, method: 'tools/list' }));
    expect(backend.of('notifications/cancelled')).toHaveLength(1);
  });
});
