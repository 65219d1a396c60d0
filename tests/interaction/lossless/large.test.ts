/** Results that are passed on and not read: as large as the limit allows, and not larger. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { request, text } from '../harness/behind.ts';
import { type Answer, send } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script, type Turn } from '../harness/http-backend.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';
import { type Era, pairs, pass } from './setup.ts';

const MiB = 1024 * 1024;
const digest = (value: string) => createHash('sha256').update(value).digest('hex');

/** Text that would show if a piece of it were lost, doubled or in another place; of several bytes a character. */
function long(bytes: number): string {
  const lines: string[] = [];
  for (let size = 0; size < bytes; size += lines.at(-1)?.length ?? 0)
    lines.push(`${lines.length}: öde 世界 "quoted" \\ `);
  return lines.join('\n');
}

interface Way {
  readonly way: string;
  readonly complaint: string;
  readonly bring: (turn: Turn, message: string) => void;
}

/** How a backend may bring a result: the whole at once, in pieces of unknown number, or as an event. */
const ways: readonly Way[] = [
  { way: 'in a body', complaint: 'Backend response too large', bring: (turn, message) => turn.json(message) },
  {
    way: 'in a body of unknown length',
    complaint: 'Backend response too large',
    bring: (turn, message) => {
      turn.stream({ 'content-type': 'application/json' });
      for (let at = 0; at < message.length; at += 60_000) turn.bytes(message.slice(at, at + 60_000));
      turn.end();
    },
  },
  {
    way: 'in an event',
    complaint: 'An event of more than 65536 bytes',
    bring: (turn, message) => turn.stream().bytes(`data: ${message}\n\n`).end(),
  },
];

describe('a large result', verifies('gateway:lossless:large-result'), () => {
  it.each(pairs)('passes unchanged from a $backend backend to a $client client', async ({ client, backend }) => {
    const content = long(5 * MiB);
    const result = `"content":[{"type":"text","text":${JSON.stringify(content)}}]`;
    const { answer } = await pass(client, backend, { result });
    expect(digest(answer.json().result.content[0].text)).toBe(digest(content));
  });

  it('passes unchanged as an event of a stream', async () => {
    const content = long(5 * MiB);
    const result = `"content":[{"type":"text","text":${JSON.stringify(content)}}]`;
    const says = () => ['{"jsonrpc":"2.0","method":"notifications/example.com/note"}'];
    const { answer } = await pass('modern', 'modern', { result, says });
    expect(digest(answer.events.at(-1)?.json().result.content[0].text)).toBe(digest(content));
  });
});

describe('a result over the limit', verifies('gateway:lossless:large-result'), () => {
  const limits = { resultBytes: 64 * 1024, lineBytes: 64 * 1024 };
  const tooLarge = (message: string) => ({
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32603, message, data: { reason: 'backend_too_large' } },
  });
  const huge = 'x'.repeat(70 * 1024);
  const call = async (url: string, era: Era, name: string): Promise<Answer> =>
    era === 'legacy'
      ? (await connectLegacy(url)).post(request(1, 'tools/call', { name }))
      : send(url, modern({ method: 'tools/call', params: { name } }));

  for (const { way, complaint, bring } of ways) {
    it.each(pairs)(
      `fails with a named error, and affects no other call: ${way}, $backend backend, $client client`,
      async ({ client, backend }) => {
        const script: Script = {
          'tools/call': (turn) => {
            const result = { resultType: 'complete', ...text(turn.message.params.name === 'huge' ? huge : 'small') };
            bring(turn, JSON.stringify({ jsonrpc: '2.0', id: turn.message.id, result }));
          },
        };
        const behind = await (backend === 'legacy' ? legacyBackend : modernBackend)(script);
        const gateway = await startGateway({ backends: { b: { url: behind.url } }, limits });
        const answer = await call(gateway.url('b'), client, 'huge');
        expect({ status: answer.status, body: answer.json() }).toEqual({ status: 200, body: tooLarge(complaint) });
        expect((await call(gateway.url('b'), client, 'small')).json().result).toMatchObject(text('small'));
      },
    );
  }

  it.each(pairs)(
    'fails with a named error, and affects no other call: over stdio, $backend process, $client client',
    async ({ client, backend }) => {
      const { command, args } = await (backend === 'legacy' ? legacyProcess : modernProcess)({
        'tools/call': (turn) =>
          turn.result({ resultType: 'complete', ...text(turn.message.params.name === 'huge' ? huge : 'small') }),
      });
      const gateway = await startGateway({ backends: { b: { command, args } }, limits });
      const answer = await call(gateway.url('b'), client, 'huge');
      expect({ status: answer.status, body: answer.json() }).toEqual({
        status: 200,
        body: tooLarge('A line of more than 65536 bytes'),
      });
      expect((await call(gateway.url('b'), client, 'small')).json().result).toMatchObject(text('small'));
    },
  );
});
