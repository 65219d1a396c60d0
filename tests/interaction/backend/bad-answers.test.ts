/**
 * HTTP backends whose answer to a request is none, belongs to nobody, or never ends: the client hears of it at once.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { refusal, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';
import { answered, count, invalid, pairOf, tooLarge, unavailable } from './setup.ts';

describe.each(eras)('in the %s era', (era) => {
  const done = { ...(era === 'modern' && { resultType: 'complete' }), ...text('done') };
  const none = [
    {
      name: '202',
      proves: verifies('gateway:backend:202-fails-fast'),
      answer: (turn: Turn) => turn.raw(202, {}),
    },
    {
      name: '204',
      proves: verifies('gateway:backend:204-fails-fast'),
      answer: (turn: Turn) => turn.raw(204, {}),
    },
    {
      name: 'an event stream without an event',
      proves: verifies('gateway:backend:empty-stream-fails-fast'),
      answer: (turn: Turn) => turn.stream().end(),
    },
    {
      name: 'an event stream with comments alone',
      proves: verifies('gateway:backend:empty-stream-fails-fast'),
      answer: (turn: Turn) => turn.stream().bytes(': hello\n\n').end(),
    },
  ];
  for (const { name, proves, answer } of none) {
    it(`${name} fails the call at once, and the next one is served`, proves, async () => {
      let calls = 0;
      const pair = await pairOf(era, {
        'tools/call': (turn) => (++calls === 1 ? answer(turn) : turn.result(done)),
      });
      const failed = await pair.ask(7);
      expect(failed.status).toBe(200);
      expect(answered(failed)).toEqual(refusal({ ...invalid, id: 7 }));
      expect(answered(await pair.ask(8)).result.content).toEqual(text('done').content);
      expect(pair.backend.of('tools/call')).toHaveLength(2);
    });
  }

  const refusals = [
    { name: 'without an id', body: { jsonrpc: '2.0', error: { code: -32050, message: 'No', data: { why: 1 } } } },
    {
      name: 'with id null',
      body: { jsonrpc: '2.0', id: null, error: { code: -32050, message: 'No', data: { why: 1 } } },
    },
  ];
  for (const { name, body } of refusals) {
    it(
      `an error ${name} answers the request that was posted`,
      verifies('gateway:backend:error-without-id'),
      async () => {
        const pair = await pairOf(era, { 'tools/call': (turn) => turn.json(body, 400) });
        // -32050 is one of the codes that must not reach a modern client.
        const error = { ...body.error, code: era === 'modern' ? -32603 : -32050 };
        expect(answered(await pair.ask('x'))).toEqual({ jsonrpc: '2.0', id: 'x', error });
      },
    );
  }

  it('a second answer is dropped and counted', verifies('gateway:backend:duplicate-response'), async () => {
    const pair = await pairOf(era, {
      'tools/call': (turn) => {
        const { id } = turn.message;
        turn
          .stream()
          .event(result(id, done))
          .event(result(id, { ...done, again: true }))
          .end();
      },
    });
    const answer = await pair.ask(1);
    expect(answered(answer)).toEqual(result(1, done));
    expect(answer.body).not.toContain('again');
    expect(count(pair.gateway, 'backend.noise.unknown_id')).toBe(1);
  });

  it('a response without a request is dropped and counted', verifies('gateway:backend:unknown-response'), async () => {
    const pair = await pairOf(era, {
      'tools/call': (turn) => {
        const { id } = turn.message;
        turn
          .stream()
          .event(result(id + 1000, text('stray')))
          .event(result(`${id}x`, text('stray')))
          .event({ jsonrpc: '2.0', id: 'other', error: { code: 1, message: 'stray' } })
          .event(result(id, done))
          .end();
      },
    });
    const answer = await pair.ask(1);
    expect(answered(answer)).toEqual(result(1, done));
    expect(answer.body).not.toContain('stray');
    expect(count(pair.gateway, 'backend.noise.unknown_id')).toBe(3);
  });

  it(
    'an event that never ends fails its call, and the connection is closed',
    verifies('gateway:backend:oversized-event'),
    async () => {
      const chunk = 'x'.repeat(1024);
      const limits = { resultBytes: 16 * 1024 };
      let written = 0;
      let closed = false;
      const pair = await pairOf(
        era,
        {
          'tools/call': (turn) => {
            turn.stream().bytes('data: ');
            void turn.closed.then(() => {
              closed = true;
            });
            const more = () => {
              if (closed) return;
              turn.bytes(chunk);
              written += chunk.length;
              setImmediate(more);
            };
            more();
          },
        },
        { limits },
      );
      expect(answered(await pair.ask(1))).toEqual(
        refusal({ ...tooLarge, message: 'An event of more than 16384 bytes', id: 1 }),
      );
      await until(() => closed, 'the connection was closed');
      expect(written).toBeGreaterThan(limits.resultBytes);
    },
  );

  it('a body over the limit fails its call', verifies('gateway:backend:oversized-event'), async () => {
    const pair = await pairOf(
      era,
      { 'tools/call': (turn) => turn.result({ ...done, x: 'y'.repeat(20_000) }) },
      { limits: { resultBytes: 16 * 1024 } },
    );
    expect(answered(await pair.ask(1))).toEqual(refusal({ ...tooLarge, id: 1 }));
  });

  it(
    'a stream that is cut fails its call, which is not sent again',
    verifies('gateway:backend:cut-stream-fails', 'gateway:backend:call-never-twice'),
    async () => {
      const pair = await pairOf(era, {
        'tools/call': (turn) => turn.stream().bytes('data: {"jsonrpc":"2.0","id"').cut(),
      });
      expect(answered(await pair.ask(1))).toEqual(refusal({ ...unavailable, id: 1 }));
      expect(pair.backend.of('tools/call')).toHaveLength(1);
    },
  );
});
