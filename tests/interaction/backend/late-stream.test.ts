/**
 * Servers ask on their standalone stream from within a tool, too, and what they say there while nobody listens is lost.
 * The first call of a session therefore waits for the stream, if it may ask; and not for ever.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { begin, type Json, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, type Turn } from '../harness/http-backend.ts';

/** For which a call waits for the stream. */
const LISTEN_MS = 200;
const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
// As one JSON text, however much time goes by.
const headers = { accept: 'application/json' };
const tool = (capabilities: object) =>
  modern({ id: 1, method: 'tools/call', params: { name: 'greet' }, capabilities, headers });

/** The time for the stream never ends. */
class Patient extends LeapClock {
  override after(ms: number, action: () => void): () => void {
    return ms === LISTEN_MS ? () => undefined : super.after(ms, action);
  }
}

/** A backend that asks on its standalone stream, if that is open; and whose stream opens when it is told to. */
async function behind(clock: LeapClock) {
  const opening: Turn[] = [];
  let open: Turn | undefined;
  const backend = await legacyBackend({
    GET: (turn) => void opening.push(turn),
    'tools/list': (turn) => turn.result({ tools: [] }),
    'tools/call': (turn) => {
      if (open === undefined) turn.result({ content: [{ type: 'text', text: 'nobody listens' }] });
      else {
        turn.stream();
        open.event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: form });
      }
    },
  });
  const gateway = await startGateway({ backends: { b: { url: backend.url } } }, { clock });
  return {
    backend,
    clock,
    url: gateway.url('b'),
    asked: () => until(() => opening.length > 0, 'the backend was asked for its stream'),
    answer: () => {
      open = opening[0]?.stream();
    },
  };
}

describe('the first call of a session', verifies('gateway:bridge:ask-attribution'), () => {
  const capabilities = { elicitation: {} };

  it('is sent once the standalone stream is open, so that its server request arrives', async () => {
    const { url, backend, asked, answer } = await behind(new Patient());
    const call = begin(url, tool(capabilities));
    await asked();
    // What may not ask has no reason to wait.
    expect((await send(url, modern({ id: 2, method: 'tools/list', capabilities }))).status).toBe(200);
    expect(backend.of('tools/call')).toEqual([]);
    answer();
    const response = await call.answer;
    await response.ended;
    const { resultType, inputRequests } = JSON.parse(response.text()).result;
    expect(resultType).toBe('input_required');
    expect(Object.values<Json>(inputRequests)).toEqual([{ method: 'elicitation/create', params: form }]);
  });

  it('is sent without a stream that takes too long', async () => {
    const { url, asked, clock } = await behind(new LeapClock());
    const call = begin(url, tool(capabilities));
    await asked();
    clock.leap(LISTEN_MS);
    const response = await call.answer;
    await response.ended;
    expect(JSON.parse(response.text()).result.content).toEqual([{ type: 'text', text: 'nobody listens' }]);
  });

  it('is sent immediately if the client can answer no server request', async () => {
    const { url } = await behind(new Patient());
    const response = await send(url, tool({}));
    expect(response.json().result.content).toEqual([{ type: 'text', text: 'nobody listens' }]);
  });
});
