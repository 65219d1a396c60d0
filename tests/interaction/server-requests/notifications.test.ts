/** What is said about questions outside of them: a page was visited, roots changed, a page must be visited first. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, call, hasRead, notification, result, streaming, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';

describe('in one session and no other', () => {
  it(
    'the completion of a URL elicitation reaches the client that got the elicitation',
    verifies('elicitation:url:complete-notification'),
    async () => {
      const streams: Turn[] = [];
      const { url, backend } = await behindLegacy(
        {
          GET: (turn) => void streams.push(turn.stream()),
          'tools/call': (turn) => {
            turn.stream().event(notification('notifications/elicitation/complete', { elicitationId: 'in the call' }));
            turn.event(result(turn.message.id, text('done'))).end();
          },
        },
        { limits: streaming },
      );
      const capabilities = { elicitation: { url: {} } };
      const asked = await connectLegacy(url, { capabilities });
      await until(() => streams.length === 1, 'its backend has a stream to it');
      const other = await connectLegacy(url, { capabilities });
      const [heard, unheard] = [await asked.listen(), await other.listen()];
      await until(() => streams.length === 2, 'so has the other');
      const [first, second] = streams as [Turn, Turn];
      first.event(notification('notifications/elicitation/complete', { elicitationId: 'e-1' }));
      const complete = await heard.message(({ method }) => method === 'notifications/elicitation/complete');
      expect(complete).toEqual(notification('notifications/elicitation/complete', { elicitationId: 'e-1' }));
      await hasRead(backend, second);
      expect(unheard.events.filter(({ data }) => data)).toEqual([]);
      const called = await asked.post(call(1));
      expect(called.events.flatMap((event) => (event.data ? [event.json()] : []))).toEqual([
        notification('notifications/elicitation/complete', { elicitationId: 'in the call' }),
        result(1, text('done')),
      ]);
    },
  );

  it('the notification that roots changed reaches the backend', verifies('roots:list-changed'), async () => {
    const { url, backend } = await behindLegacy();
    const capabilities = { roots: { listChanged: true } };
    const client = await connectLegacy(url, { capabilities });
    await connectLegacy(url, { capabilities });
    expect((await client.post(notification('notifications/roots/list_changed'))).status).toBe(202);
    const { message, headers } = await backend.arrival('notifications/roots/list_changed');
    expect(message).toEqual(notification('notifications/roots/list_changed'));
    // The probe had the first session upstream, this client the second.
    expect(headers['mcp-session-id']).toBe('upstream-2');
    expect(backend.of('notifications/roots/list_changed')).toHaveLength(1);
  });
});

describe('a call that cannot begin before a page was visited', () => {
  it('is refused with all that the client needs', verifies('elicitation:url:required-error'), async () => {
    const data = {
      elicitations: [
        { mode: 'url', elicitationId: 'e-1', url: 'https://example.com/a?b=%20', message: 'Sign "in"' },
        { mode: 'url', elicitationId: 'e-2', url: 'https://example.com/c', message: 'Pay' },
      ],
      more: { kept: true },
    };
    const { url } = await behindLegacy({ 'tools/call': (turn) => turn.error(-32042, 'Please visit', data) });
    const client = await connectLegacy(url, { capabilities: { elicitation: { url: {} } } });
    const answer = await client.post(call(1));
    expect({ status: answer.status, body: answer.json() }).toEqual({
      status: 200,
      body: { jsonrpc: '2.0', id: 1, error: { code: -32042, message: 'Please visit', data } },
    });
  });
});
