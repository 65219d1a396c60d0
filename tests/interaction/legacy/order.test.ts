/** What a client sends at once reaches the backend in the client's order. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { notification, request, text } from '../harness/behind.ts';
import { initialize } from '../harness/eras.ts';
import { configFile, StdioClient } from '../harness/program.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';

it.each([
  { name: 'one backend', count: 1 },
  { name: 'several backends', count: 2 },
])(
  'a notification and a level stay before the call that follows them, $name',
  verifies('gateway:legacy:sent-order'),
  async ({ count }) => {
    const backends = await Promise.all(
      Array.from({ length: count }, () =>
        legacyProcess({
          'tools/call': (turn) => turn.result(text('done')),
          'logging/setLevel': (turn) => turn.result({}),
          'tools/list': (turn) => turn.result({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }),
        }),
      ),
    );
    const entries = backends.map(({ command, args }, at) => [`b${at}`, { command, args }]);
    const client = new StdioClient(configFile({ backends: Object.fromEntries(entries) }));
    const tool = { name: count === 1 ? 'echo' : 'b0__echo', arguments: {} };
    await client.ask(initialize());
    client.say(notification('notifications/initialized'));
    await client.ask(request('first', 'tools/call', tool));
    const together = [
      notification('notifications/roots/list_changed'),
      request('level', 'logging/setLevel', { level: 'error' }),
      request('second', 'tools/call', tool),
    ];
    client.say(together.map((message) => JSON.stringify(message)).join('\n'));
    await client.message(({ id }) => id === 'second');
    const [first] = backends;
    const said = first?.processes.flatMap(({ received }) => received.map(({ method }) => method)) ?? [];
    const order = ['notifications/roots/list_changed', 'logging/setLevel', 'tools/call'];
    expect(said.filter((method) => order.includes(method)).slice(-3)).toEqual(order);
  },
);
