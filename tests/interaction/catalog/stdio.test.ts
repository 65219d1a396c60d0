/** `bascule stdio` with several backends: the one client of a pipe has them all. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { cancelled, notification, request, text } from '../harness/behind.ts';
import { type Json, until } from '../harness/client.ts';
import { eras, initialize, modernMeta } from '../harness/eras.ts';
import { configFile, StdioClient } from '../harness/program.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';
import { namesOf, signature } from './setup.ts';
import { openShop, resource, tool } from './shop.ts';

it.each(eras)(
  'a %s client gets the items of all backends, and all list changes',
  verifies('gateway:catalog:stdio'),
  async (era) => {
    const shop = await openShop('modern', 'shop', {
      tools: [tool('t')],
      resources: [resource('note://r')],
      ttlMs: 600_000,
      script: {
        'tools/call': (turn) =>
          turn.message.params.arguments?.wait
            ? undefined
            : turn.result({ resultType: 'complete', ...text('shop: done') }),
      },
    });
    const process = await legacyProcess({
      'tools/list': (turn) => turn.result({ tools: [tool('t')] }),
      'resources/list': (turn) => turn.result({ resources: [resource('note://r')] }),
      'resources/templates/list': (turn) => turn.result({ resourceTemplates: [] }),
      'resources/read': (turn) => turn.result({ contents: [{ uri: turn.message.params.uri, text: 'process: read' }] }),
      'tools/call': (turn) => turn.result(text('process: done')),
    });
    const backends = { shop: { url: shop.backend.url }, process: { command: process.command, args: process.args } };
    const client = new StdioClient(configFile({ backends }));
    const say = (id: string, method: string, params: object = {}): Json =>
      request(id, method, era === 'modern' ? { ...params, _meta: modernMeta() } : params);
    if (era === 'legacy') {
      await client.ask(initialize());
      client.say(notification('notifications/initialized'));
    } else {
      client.say(say('listen', 'subscriptions/listen', { notifications: { toolsListChanged: true } }));
      await client.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
    }
    const { result } = await client.ask(say('list', 'tools/list'));
    expect(namesOf(result.tools)).toEqual(['shop__t', 'process__t']);
    expect(signature(await client.ask(say('c1', 'tools/call', { name: 'shop__t' })))).toBe('shop: done');
    expect(signature(await client.ask(say('c2', 'tools/call', { name: 'process__t' })))).toBe('process: done');
    const uri = 'bascule:process/note://r';
    const read = await client.ask(say('read', 'resources/read', { uri }));
    expect(read.result.contents).toEqual([{ uri, text: 'process: read' }]);

    const told = () => client.heard.filter(({ method }) => method === 'notifications/tools/list_changed').length;
    await shop.changed('tools');
    await until(() => told() === 1, 'a change at the one is heard');
    process.processes.at(-1)?.say(notification('notifications/tools/list_changed'));
    await until(() => told() === 2, 'a change at the other is heard');

    client.say(say('wait', 'tools/call', { name: 'shop__t', arguments: { wait: true } }));
    await shop.backend.arrival('tools/call', 2);
    client.say(cancelled('wait'));
    expect(signature(await client.ask(say('c3', 'tools/call', { name: 'shop__t' })))).toBe('shop: done');
    expect(client.heard.filter(({ id }) => id === 'wait')).toEqual([]);
    client.program.endInput();
    expect((await client.program.end()).code).toBe(0);
  },
);
