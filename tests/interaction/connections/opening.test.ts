/** What happens on a line while its `initialize` is still being answered. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { serveStdio } from '../../../src/downstream/stdio.ts';
import { revisions } from '../../../src/wire/revisions.ts';
import { RecordingNotes } from '../../downstream/harness.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, until } from '../harness/client.ts';
import { initialize } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend } from '../harness/http-backend.ts';

const endpoint = {
  path: '/mcp',
  backends: ['b'],
  profile: { revisions, batches: 'deny', accept: 'lenient', elicitation: 'any', toolNames: 'any' },
  denials: 'error',
  sessions: 'required',
  names: 'always',
} as const;

const limits = { bodyBytes: 1 << 20, jsonDepth: 64, outboxBytes: 1 << 20, outboxSoftBytes: 1 << 16 };

function line(gateway: TestGateway) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answers: Json[] = [];
  let rest = '';
  output.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    answers.push(...lines.map((text) => JSON.parse(text)));
  });
  const notes = new RecordingNotes();
  const served = serveStdio({ input, output, gateway: gateway.assembled.gateway, endpoint, limits, notes });
  return {
    say: (...messages: object[]) => input.write(messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
    answers,
    end: () => input.end(),
    served,
  };
}

it(
  'messages that a client sends before the initialize result are handled afterwards, in order',
  verifies('gateway:stdio:era-by-first-message'),
  async () => {
    const backend = await legacyBackend({ 'tools/call': (turn) => turn.result({ content: [] }) });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = line(gateway);
    client.say(
      initialize(),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } },
    );
    await until(() => client.answers.length === 2, 'both were answered');
    expect(client.answers.map(({ id }) => id)).toEqual(['init', 1]);
    expect(client.answers[1]).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [] } });
    expect(backend.of('notifications/initialized')).toHaveLength(1);
    client.end();
    await client.served;
  },
);

it(
  'a client that leaves before the answer leaves no session behind',
  verifies('gateway:stdio:stdin-closed'),
  async () => {
    let answer: () => void = () => undefined;
    const backend = await legacyBackend({
      initialize: (turn) => {
        const reply = () => {
          const result = {
            protocolVersion: '2025-11-25',
            capabilities: {},
            serverInfo: { name: 'slow', version: '1' },
          };
          turn.json({ jsonrpc: '2.0', id: turn.message.id, result }, 200, { 'mcp-session-id': 'only' });
        };
        // The first one is the probe's.
        if (backend.of('initialize').length === 1) reply();
        else answer = reply;
      },
    });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    const client = line(gateway);
    client.say(initialize());
    await backend.arrival('initialize', 2);
    client.end();
    await client.served;
    const ended = backend.received.filter(({ http }) => http === 'DELETE').length;
    answer();
    await until(
      () => backend.received.filter(({ http }) => http === 'DELETE').length > ended,
      'the session upstream has ended',
    );
  },
);
