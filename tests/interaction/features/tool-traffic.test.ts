/** What a tool says while it runs, and what becomes of the list afterwards: SDK client and server of one era. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, until } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { Gate } from '../harness/gate.ts';
import { launchPair, type Pair } from '../harness/pairs.ts';
import { text } from './samples.ts';

const logLevel = 'io.modelcontextprotocol/logLevel';
const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });

describe.each(eras)('a tool that is running, %s', (era) => {
  let pair: Pair;
  let names: readonly string[] = ['first'];
  /** The tool goes on when the client has seen what it said. */
  let seen = new Gate();
  beforeAll(async () => {
    pair = await launchPair(
      era,
      { capabilities: { tools: { listChanged: true }, logging: {} } },
      {
        'tools/list': () => ({ tools: names.map(tool) }),
        'tools/call': async ({ name }, { meta, notify }) => {
          if (name === 'progress') {
            const { progressToken } = meta;
            await notify('notifications/progress', { progressToken, progress: 0.5, total: 2, message: 'half' });
            await seen.opened;
            await notify('notifications/progress', { progressToken, progress: 2, total: 2 });
          }
          if (name === 'log') {
            await notify('notifications/message', { level: 'info', logger: 'l', data: { at: 1 } });
            await seen.opened;
          }
          return { content: [text(name)] };
        },
      },
    );
  });
  afterAll(() => pair.close());

  it('shows its progress as it happens', verifies('tools:call:progress'), async () => {
    const client = await pair.connect();
    const progress: Json[] = [];
    seen = new Gate();
    const result = await pair.call(
      client,
      { name: 'progress' },
      {
        onprogress: (step) => {
          progress.push(step);
          seen.open();
        },
      },
    );
    expect(result.content).toEqual([text('progress')]);
    // The client drops progress that it reads together with the result, so only the first step is certain.
    expect(progress[0]).toEqual({ progress: 0.5, total: 2, message: 'half' });
  });

  it('sends log messages before its result', verifies('tools:call:logging-mid-execution'), async () => {
    const messages: Json[] = [];
    seen = new Gate();
    const client = await pair.connect({
      hears: {
        'notifications/message': (params) => {
          messages.push(params);
          seen.open();
        },
      },
    });
    const { content } = await client.callTool({ name: 'log', _meta: era === 'modern' ? { [logLevel]: 'debug' } : {} });
    expect(content).toEqual([text('log')]);
    expect(messages).toMatchObject([{ level: 'info', logger: 'l', data: { at: 1 } }]);
  });

  it('may be followed by others: the change is announced', verifies('tools:list-changed'), async () => {
    let changes = 0;
    const client = await pair.connect({
      hears: {
        'notifications/tools/list_changed': () => {
          changes += 1;
        },
      },
    });
    expect((await client.listTools()).tools).toMatchObject([{ name: 'first' }]);
    await pair.listen(client, { toolsListChanged: true });
    names = ['first', 'second'];
    pair.announce.tools();
    await until(() => changes === 1, 'the change is announced');
    expect((await client.listTools()).tools).toMatchObject([{ name: 'first' }, { name: 'second' }]);
  });
});
