/** Event streams of HTTP backends: read whatever their form, and each for its own call. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { Held, notification, result, text } from '../harness/behind.ts';
import { eras } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';
import { answered, messagesOf, pairOf } from './setup.ts';

/** One, two, three and four bytes in UTF-8. */
const words = 'aé€😀';

describe.each(eras)('in the %s era', (era) => {
  const done = (value: string) => ({ ...(era === 'modern' && { resultType: 'complete' }), ...text(value) });
  const progressOf = (turn: Turn, message: string) =>
    notification('notifications/progress', {
      progressToken: turn.message.params._meta.progressToken,
      progress: 1,
      message,
    });
  const wanted = { name: 'work', arguments: {}, _meta: { progressToken: 'mine' } };

  it('characters that are split between two chunks arrive intact', verifies('gateway:backend:split-utf8'), async () => {
    const pair = await pairOf(era, {
      'tools/call': (turn) => {
        turn.stream();
        const bytes = Buffer.from(`data: ${JSON.stringify(result(turn.message.id, done(words)))}\n\n`);
        let at = 0;
        const next = () => {
          if (at === bytes.length) turn.end();
          else {
            turn.bytes(bytes.subarray(at, ++at));
            setImmediate(next);
          }
        };
        next();
      },
    });
    expect(answered(await pair.ask(1))).toEqual(result(1, done(words)));
  });

  it.each([
    { name: 'LF', end: '\n' },
    { name: 'CRLF', end: '\r\n' },
    { name: 'CR', end: '\r' },
  ])('lines may end in $name', verifies('gateway:backend:line-endings'), async ({ end }) => {
    const pair = await pairOf(era, {
      'tools/call': (turn) => {
        const [head, tail] = JSON.stringify(result(turn.message.id, done('x'))).split(/(?<=,)(?="id")/);
        const lines = [
          ': a comment',
          `data: ${JSON.stringify(progressOf(turn, 'half way'))}`,
          '',
          'event: message',
          `data: ${head}`,
          `data: ${tail}`,
          '',
          '',
        ];
        turn.stream().bytes(lines.join(end)).end();
      },
    });
    const answer = await pair.ask(1, 'tools/call', wanted);
    expect(messagesOf(answer)).toEqual([
      notification('notifications/progress', { progressToken: 'mine', progress: 1, message: 'half way' }),
      result(1, done('x')),
    ]);
  });

  it(
    'a JSON answer settles a call as a stream does',
    verifies('client-transport:http:json-response-parsed'),
    async () => {
      const forms: ((turn: Turn) => void)[] = [
        (turn) =>
          turn
            .stream()
            .event(result(turn.message.id, done('x')))
            .end(),
        (turn) => turn.json(result(turn.message.id, done('x'))),
        (turn) => turn.json(JSON.stringify(result(turn.message.id, done('x')), null, 2)),
        (turn) =>
          turn.raw(
            200,
            { 'content-type': 'Application/JSON;charset=UTF-8' },
            JSON.stringify(result(turn.message.id, done('x'))),
          ),
      ];
      let calls = 0;
      const pair = await pairOf(era, { 'tools/call': (turn) => forms[calls++]?.(turn) });
      for (const id of forms.keys()) expect(answered(await pair.ask(id))).toEqual(result(id, done('x')));
      expect(calls).toBe(forms.length);
    },
  );

  it('streams of several calls each feed their own', verifies('client-transport:http:concurrent-streams'), async () => {
    const held = new Held();
    const pair = await pairOf(era, { 'tools/call': held.take });
    const ids = [1, 2, 3];
    const waiting = ids.map((id) =>
      pair.ask(id, 'tools/call', { name: 'work', arguments: { id }, _meta: { progressToken: `t${id}` } }),
    );
    await held.nth(ids.length);
    for (const turn of held.turns) turn.stream();
    // In turns, and ended in another order than begun.
    for (const round of [1, 2])
      for (const turn of held.turns) turn.event(progressOf(turn, `${round} of ${turn.message.params.arguments.id}`));
    for (const turn of [...held.turns].reverse())
      turn.event(result(turn.message.id, done(`end of ${turn.message.params.arguments.id}`))).end();
    for (const [at, answer] of (await Promise.all(waiting)).entries()) {
      const id = at + 1;
      const progress = (round: number) =>
        notification('notifications/progress', { progressToken: `t${id}`, progress: 1, message: `${round} of ${id}` });
      expect(messagesOf(answer)).toEqual([progress(1), progress(2), result(id, done(`end of ${id}`))]);
    }
  });
});

describe('a backend of 2025-03-26', verifies('gateway:backend:array-read'), () => {
  const old = { backend: { revision: '2025-03-26' } };

  it.each([
    {
      name: 'in a body',
      answer: (turn: Turn, messages: readonly object[]) => turn.json(messages),
    },
    {
      name: 'in an event',
      answer: (turn: Turn, messages: readonly object[]) => turn.stream().event(messages).end(),
    },
  ])('answers with an array $name: its messages are read one by one', async ({ answer }) => {
    const pair = await pairOf(
      'legacy',
      {
        'tools/call': (turn) => {
          const { progressToken } = turn.message.params._meta;
          answer(turn, [
            notification('notifications/progress', { progressToken, progress: 1 }),
            notification('notifications/message', { level: 'info', data: 'said' }),
            result(turn.message.id, text('done')),
          ]);
        },
      },
      old,
    );
    const said = await pair.ask(1, 'tools/call', { name: 'work', _meta: { progressToken: 0 } });
    expect(messagesOf(said)).toEqual([
      notification('notifications/progress', { progressToken: 0, progress: 1 }),
      notification('notifications/message', { level: 'info', data: 'said' }),
      result(1, text('done')),
    ]);
  });
});
