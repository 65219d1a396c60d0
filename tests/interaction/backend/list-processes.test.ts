/** Lists of stdio backends for sessions that have no process of their own: who shares one, and who gets one. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, notification, request, result, text } from '../harness/behind.ts';
import { type Answer, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, type LegacyClient } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyProcess, type StdioBackend, type StdioScript } from '../harness/stdio-backend.ts';
import { answered, startBeforeProcess } from './setup.ts';

const script: StdioScript = {
  'tools/list': (turn) => turn.result({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] }),
  'tools/call': (turn) => turn.result(text(String(turn.process.pid))),
};
const tools = { capabilities: { tools: { listChanged: true } } };
const TOLD = 'notifications/tools/list_changed';

const alive = (backend: StdioBackend) => backend.processes.filter(({ gone }) => !gone).length;
const namesIn = (answer: Answer): string[] => answered(answer).result.tools.map(({ name }: { name: string }) => name);

/** Both kinds of addresses: the backend's own, where nothing is renamed, and the merged one. */
const places = [
  { kind: 'the address of one backend', path: 'b', tool: 'work' },
  { kind: 'the merged address', path: undefined, tool: 'b__work' },
] as const;

async function beforeTwo(backend: StdioBackend, settings: object = {}, ports = {}): Promise<TestGateway> {
  const other = await legacyProcess({}, { capabilities: {} });
  const entry = ({ command, args }: StdioBackend) => ({ command, args });
  return startGateway({ backends: { b: { ...entry(backend), ...settings }, other: entry(other) } }, ports);
}

describe.each(places)('at $kind', ({ path, tool }) => {
  it(
    'sessions that only list share the process of the probe, and none is started for them',
    verifies('gateway:backend:list-process'),
    async () => {
      const backend = await legacyProcess(script, tools);
      const gateway = await beforeTwo(backend);
      for (let n = 0; n < 5; n++) {
        const client = await connectLegacy(gateway.url(path));
        expect(namesIn(await client.post(request(n, 'tools/list')))).toEqual([tool]);
      }
      expect(backend.processes).toHaveLength(1);
      expect(backend.of('initialize')).toHaveLength(1);
    },
  );

  it(
    'a session gets its own process with its first call, and its lists come from there afterwards',
    verifies('gateway:backend:list-process', 'gateway:backend:own-process'),
    async () => {
      const backend = await legacyProcess(script, tools);
      const gateway = await beforeTwo(backend);
      const [first, second] = [await connectLegacy(gateway.url(path)), await connectLegacy(gateway.url(path))];
      await first.post(request(1, 'tools/list'));
      const params = { name: tool, arguments: {} };
      const served = await first.post(request(2, 'tools/call', params));
      const [shared, own] = backend.processes;
      expect(served.json()).toEqual(result(2, text(String(own?.pid))));
      await first.post(request(3, 'tools/list'));
      expect(own?.received.at(-1)?.method).toBe('tools/list');
      await second.post(request(4, 'tools/list'));
      expect(shared?.received.filter(({ method }) => method === 'tools/call')).toEqual([]);
      expect(backend.processes).toHaveLength(2);
    },
  );

  it(
    'clients that declare other capabilities do not share a process',
    verifies('gateway:backend:list-process'),
    async () => {
      const backend = await legacyProcess(script, tools);
      const gateway = await beforeTwo(backend);
      const list = async (capabilities: object) => {
        const client = await connectLegacy(gateway.url(path), { capabilities });
        expect(namesIn(await client.post(request(1, 'tools/list')))).toEqual([tool]);
      };
      await list({});
      await list({ sampling: {} });
      await list({ sampling: {} });
      await list({});
      expect(backend.of('initialize').map(({ message }) => message.params.capabilities)).toEqual([
        {},
        { sampling: {} },
      ]);
    },
  );

  it(
    'a list change of the shared process reaches every session that shares it',
    verifies('gateway:backend:list-process-changes'),
    async () => {
      const backend = await legacyProcess(script, tools);
      const gateway = await beforeTwo(backend);
      const clients = [await connectLegacy(gateway.url(path)), await connectLegacy(gateway.url(path))];
      const streams = await Promise.all(clients.map((client) => client.listen()));
      for (const client of clients) await client.post(request(1, 'tools/list'));
      const read = backend.of('tools/list').length;
      backend.processes[0]?.say(notification(TOLD));
      for (const stream of streams) {
        const told = () => stream.events.some(({ data }) => data?.includes(TOLD));
        await until(told, 'the session is told');
      }
      await clients[0]?.post(request(2, 'tools/list'));
      expect(backend.of('tools/list').length).toBeGreaterThan(read);
    },
  );

  it(
    'a hundred sessions that list and disconnect without DELETE are served, and start no process',
    verifies('gateway:backend:list-process'),
    async () => {
      const backend = await legacyProcess(script, tools);
      const gateway = await beforeTwo(backend, { maxProcesses: 2 });
      for (let n = 0; n < 100; n++) {
        const client = await connectLegacy(gateway.url(path));
        expect(namesIn(await client.post(request(n, 'tools/list')))).toEqual([tool]);
        expect(alive(backend)).toBeLessThanOrEqual(2);
      }
      expect(backend.processes).toHaveLength(1);
    },
  );

  it(
    'a process that serves lists makes room for the call of a session, and is there again afterwards',
    verifies('gateway:backend:list-process-room'),
    async () => {
      const backend = await legacyProcess(script, tools);
      const gateway = await beforeTwo(backend, { maxProcesses: 1 });
      const client = await connectLegacy(gateway.url(path));
      await client.post(request(1, 'tools/list'));
      const [shared] = backend.processes;
      const answer = await client.post(request(2, 'tools/call', { name: tool, arguments: {} }));
      expect(answer.json()).toEqual(result(2, text(String(backend.processes[1]?.pid))));
      expect(shared?.gone).toBe(true);
      await client.end();
      const next = await connectLegacy(gateway.url(path));
      expect(namesIn(await next.post(request(3, 'tools/list')))).toEqual([tool]);
      expect(alive(backend)).toBe(1);
    },
  );
});

it(
  'the first list of a session sends one request to each of 37 servers, and starts none',
  verifies('gateway:backend:list-process'),
  async () => {
    const backends = await Promise.all(Array.from({ length: 37 }, () => legacyProcess(script, tools)));
    const named = backends.map(({ command, args }, n) => [`s${n}`, { command, args }]);
    const gateway = await startGateway({ backends: Object.fromEntries(named), limits: { discoverWaitMs: 60_000 } });
    // The gateway is ready.
    await Promise.all([...gateway.assembled.backends].map((backend) => backend.discover()));
    const client = await connectLegacy(gateway.url());
    expect(namesIn(await client.post(request(1, 'tools/list')))).toHaveLength(37);
    for (const backend of backends) {
      expect(backend.processes).toHaveLength(1);
      expect(backend.of('tools/list')).toHaveLength(1);
    }
  },
);

it(
  'a list that a server is slow to send is partial after the configured wait, and its arrival is notified',
  verifies('gateway:catalog:late-list'),
  async () => {
    const clock = new LeapClock();
    const slow = await legacyProcess({ ...script, 'tools/list': () => undefined }, tools);
    // The pipe keeps the order: when the gateway has answered the ping, it has read the list.
    const quick = await legacyProcess(
      {
        ...script,
        'tools/list': (turn) => {
          script['tools/list']?.(turn);
          turn.process.say(request('listed', 'ping'));
        },
      },
      tools,
    );
    const entry = ({ command, args }: StdioBackend) => ({ command, args });
    const gateway = await startGateway(
      { backends: { slow: entry(slow), quick: entry(quick) }, limits: { listWaitMs: 2_000 } },
      { clock },
    );
    const client = await connectLegacy(gateway.url());
    const stream = await client.listen();
    const listing = client.post(request(1, 'tools/list'));
    const asked = await slow.arrival('tools/list');
    const answered = () => quick.processes.some(({ received }) => received.some(({ id }) => id === 'listed'));
    await until(answered, 'the gateway has read the list of the quick server');
    clock.leap(2_000);
    expect(namesIn(await listing)).toEqual(['quick__work']);
    asked.result({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] });
    await until(() => stream.events.some(({ data }) => data?.includes(TOLD)), 'the client is told');
    expect(namesIn(await client.post(request(2, 'tools/list')))).toEqual(['slow__work', 'quick__work']);
    expect(slow.of('tools/list')).toHaveLength(1);
  },
);

describe('a pool whose processes have all served a call', verifies('gateway:backend:process-state'), () => {
  it('ends none of them early for another session of the same principal', async () => {
    const clock = new LeapClock();
    const backend = await legacyProcess(script, tools);
    const gateway = await startBeforeProcess(backend, { backend: { maxProcesses: 1 }, ports: { clock } });
    const first = await connectLegacy(gateway.url('b'));
    const { pid } = await served(first, backend);
    clock.leap(120_000);
    const second = await connectLegacy(gateway.url('b'));
    let refused: Answer | undefined;
    void second.post(call(2)).then((answer) => {
      refused = answer;
    });
    const waited = () => {
      clock.leap(1_000);
      return refused !== undefined;
    };
    await until(waited, 'it is refused');
    expect(answered(refused as Answer).error.data.reason).toBe('backend_busy');
    expect((await first.post(call(3))).json()).toEqual(result(3, text(String(pid))));
  });

  it('ends an idle one if the config keeps none, and its session continues', async () => {
    const backend = await legacyProcess(script, tools);
    const gateway = await startBeforeProcess(backend, { backend: { maxProcesses: 1, state: 'none' } });
    const [first, second] = [await connectLegacy(gateway.url('b')), await connectLegacy(gateway.url('b'))];
    const pids = new Set<number>();
    for (const client of [first, second, first, second]) pids.add((await served(client, backend)).pid);
    expect(pids.size).toBe(4);
    expect(alive(backend)).toBe(1);
  });
});

async function served(client: LegacyClient, backend: StdioBackend): Promise<{ pid: number }> {
  const answer = await client.post(call(1));
  const pid = Number(answer.json().result.content[0].text);
  expect(backend.processes.map((process) => process.pid)).toContain(pid);
  return { pid };
}
