/** Whole stories, told with official clients where they can tell them. */
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { ElicitRequestSchema, ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  Held,
  notification,
  request,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import type { Script, Turn } from '../harness/http-backend.ts';
import { ClientV1, connectV1, connectV2 } from '../harness/sdk.ts';

const step = (n: number) => ({
  message: `Step ${n}`,
  requestedSchema: { type: 'object', properties: { value: { type: 'string' } }, required: ['value'] },
});

/** Asks three times in one call, as a legacy server does: each question is a request of its own. */
function threeSteps(): Script {
  const waiting = new Map<string, (answer: Json) => void>();
  return {
    'tools/call': (turn) => {
      const given: string[] = [];
      const ask = (n: number) => {
        const id = `${turn.message.id}-${n}`;
        waiting.set(id, (answer) => {
          given.push(answer.action === 'accept' ? answer.content.value : answer.action);
          if (answer.action === 'accept' && n < 3) ask(n + 1);
          else turn.event(result(turn.message.id, text(given.join(', ')))).end();
        });
        turn.event(request(id, 'elicitation/create', step(n)));
      };
      turn.stream();
      ask(1);
    },
    POST: (turn) => {
      turn.raw(202, {});
      waiting.get(turn.message.id)?.(turn.message.result);
    },
  };
}

/** The same, as a modern server does: each question ends a round. */
const threeRounds: Script = {
  'tools/call': (turn) => {
    const { inputResponses, requestState = '[]' } = turn.message.params;
    const given: string[] = JSON.parse(requestState);
    const answer = inputResponses?.step;
    if (answer !== undefined) given.push(answer.action === 'accept' ? answer.content.value : answer.action);
    if (given.length === 3 || (answer !== undefined && answer.action !== 'accept')) {
      turn.result({ resultType: 'complete', ...text(given.join(', ')) });
      return;
    }
    turn.result({
      resultType: 'input_required',
      inputRequests: { step: { method: 'elicitation/create', params: step(given.length + 1) } },
      requestState: JSON.stringify(given),
    });
  },
};

describe('a tool that sends several server requests in one call', verifies('flow:elicitation:multi-step-form'), () => {
  const stories = [
    { name: 'to the end', answers: ['a', 'b', 'c'], said: 'a, b, c', asked: ['Step 1', 'Step 2', 'Step 3'] },
    { name: 'until it is refused', answers: ['a', undefined], said: 'a, decline', asked: ['Step 1', 'Step 2'] },
  ];
  const backends = [
    { kind: 'legacy', start: () => behindLegacy(threeSteps()) },
    { kind: 'modern', start: () => behindModern(threeRounds) },
  ];

  for (const { name, answers, said, asked } of stories) {
    for (const { kind, start } of backends) {
      const answerer = () => {
        const heard: string[] = [];
        const answer = (message: string) => {
          const value = answers[heard.push(message) - 1];
          return value === undefined
            ? { action: 'decline' as const }
            : { action: 'accept' as const, content: { value } };
        };
        return { heard, answer };
      };

      it(`${name}: legacy client, ${kind} backend`, async () => {
        const { url } = await start();
        const { heard, answer } = answerer();
        const client = await connectV1(url, {
          capabilities: { elicitation: {} },
          prepare: (prepared) =>
            prepared.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params.message)),
        });
        const given = (await client.callTool({ name: 'form', arguments: {} })) as Json;
        expect(given.content).toEqual(text(said).content);
        expect(heard).toEqual(asked);
      });

      it(`${name}: modern client, ${kind} backend`, async () => {
        const { url } = await start();
        const { heard, answer } = answerer();
        const client = await connectV2(url, {
          capabilities: { elicitation: { form: {} } },
          prepare: (prepared) =>
            prepared.setRequestHandler('elicitation/create', ({ params }) => answer(params.message)),
        });
        const given = (await client.callTool({ name: 'form', arguments: {} })) as Json;
        expect(given.content).toEqual(text(said).content);
        expect(heard).toEqual(asked);
      });
    }
  }
});

describe(
  'a backend that sends a server request right after initialize',
  verifies('flow:elicitation:url-at-session-init'),
  () => {
    const visit = { mode: 'url', elicitationId: 'e-1', url: 'https://example.com/login', message: 'Please log in' };
    const asksFirst: Script = {
      GET: (turn) => void turn.stream().event(request('first', 'elicitation/create', visit)),
    };

    it('reaches an official client on its own stream', async () => {
      const { url, backend } = await behindLegacy(asksFirst);
      const visited: string[] = [];
      await connectV1(url, {
        capabilities: { elicitation: { url: {} } },
        prepare: (client) =>
          client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
            visited.push((params as { url: string }).url);
            return { action: 'accept' };
          }),
      });
      const answered = () => backend.received.find(({ message }) => message?.id === 'first');
      await until(() => answered() !== undefined, 'the backend is answered');
      expect(visited).toEqual([visit.url]);
      expect(answered()?.message).toEqual(result('first', { action: 'accept' }));
    });

    it('reaches a client that opens its stream later, once', async () => {
      const { url, backend } = await behindLegacy(asksFirst);
      const client = await connectLegacy(url, { capabilities: { elicitation: { url: {} } } });
      await backend.standing();
      const stream = await client.listen();
      const question = await stream.message(({ method }) => method === 'elicitation/create');
      expect(question.params).toEqual(visit);
      expect((await client.post(result(question.id, { action: 'decline' }))).status).toBe(202);
      await until(() => backend.received.some(({ message }) => message?.id === 'first'), 'the backend is answered');
      expect(stream.events.filter(({ data }) => data)).toHaveLength(1);
    });
  },
);

describe('a call that needs a URL elicitation first', verifies('flow:elicitation:url-required-then-retry'), () => {
  const visit = { mode: 'url', elicitationId: 'e-9', url: 'https://example.com/connect', message: 'Connect first' };

  it('is refused with -32042, and succeeds when it is repeated afterwards', async () => {
    let visited = false;
    const { url, backend } = await behindLegacy({
      'tools/call': (turn) => {
        if (visited) turn.result(text('now it works'));
        else turn.error(-32042, 'This request needs more', { elicitations: [visit] });
      },
    });
    const completed: string[] = [];
    const client = await connectV1(url, {
      capabilities: { elicitation: { url: {} } },
      prepare: (prepared) => {
        prepared.fallbackNotificationHandler = async ({ method, params }) => {
          if (method === 'notifications/elicitation/complete') completed.push(String(params?.elicitationId));
        };
      },
    });
    const refused = await client.callTool({ name: 'work', arguments: {} }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: ErrorCode.UrlElicitationRequired, data: { elicitations: [visit] } });
    visited = true;
    (await backend.standing()).event(notification('notifications/elicitation/complete', { elicitationId: 'e-9' }));
    await until(() => completed.length > 0, 'the client hears that the visit is over');
    expect(completed).toEqual(['e-9']);
    const again = (await client.callTool({ name: 'work', arguments: {} })) as Json;
    expect(again.content).toEqual(text('now it works').content);
    expect(backend.of('tools/call')).toHaveLength(2);
  });
});

describe('a tool call whose connection is cut', verifies('flow:resume:tool-call-resumption-token'), () => {
  it('is finished by an official client over a resumed stream', async () => {
    const held = new Held();
    const resumed = new Held();
    const { url, backend } = await behindLegacy(
      {
        'tools/call': held.take,
        GET: (turn) => (turn.received.headers['last-event-id'] === undefined ? turn.stream() : resumed.take(turn)),
      },
      { limits: streaming },
    );
    const client = await connectV1(url);
    const tokens: string[] = [];
    const options = { onresumptiontoken: (token: string) => void tokens.push(token), onprogress: () => undefined };
    const given = client.callTool({ name: 'work', arguments: {} }, undefined, options);
    const turn = await held.nth(1);
    const { progressToken } = turn.message.params._meta;
    const progress = (n: number) => notification('notifications/progress', { progressToken, progress: n });
    // 2025-11-25: closing the connection of a running call means "come back in so many milliseconds".
    turn.stream().event('', { id: 'up-1' }).event(progress(1), { id: 'up-2', retry: 10 }).end();
    const taken = await resumed.nth(1);
    expect(taken.received.headers['last-event-id']).toBe('up-2');
    taken
      .stream()
      .event(progress(2), { id: 'up-3' })
      .event(result(turn.message.id, text('found again')), { id: 'up-4' })
      .end();
    expect(((await given) as Json).content).toEqual(text('found again').content);
    expect(new Set(tokens).size).toBeGreaterThan(1);
    expect(backend.of('tools/call')).toHaveLength(1);
  });
});

describe('both transports of the legacy era', verifies('flow:compat:dual-transport-server'), () => {
  it('are served at the same time by one gateway', async () => {
    const { url, gateway, backend } = await behindLegacy({
      'tools/call': (turn: Turn) => turn.result(text(JSON.stringify(turn.message.params.arguments))),
    });
    const older = new ClientV1({ name: 'older', version: '1' });
    onTestFinished(() => older.close());
    await older.connect(new SSEClientTransport(new URL('/sse', gateway.origin)));
    const newer = await connectV1(url);
    const answers = (await Promise.all([
      older.callTool({ name: 'work', arguments: { from: 'older' } }),
      newer.callTool({ name: 'work', arguments: { from: 'newer' } }),
      older.callTool({ name: 'work', arguments: { from: 'older again' } }),
    ])) as Json[];
    expect(answers.map(({ content }) => content)).toEqual([
      text('{"from":"older"}').content,
      text('{"from":"newer"}').content,
      text('{"from":"older again"}').content,
    ]);
    const sessions = backend.of('tools/call').map(({ headers }) => headers['mcp-session-id']);
    expect(new Set(sessions).size).toBe(2);
    await older.close();
    expect(((await newer.callTool({ name: 'work', arguments: {} })) as Json).content).toEqual(text('{}').content);
  });
});

describe('a link in a result', verifies('flow:tool-result:resource-link-follow'), () => {
  const link = { type: 'resource_link', uri: 'file:///report.txt', name: 'report', mimeType: 'text/plain' };
  const contents = [{ uri: link.uri, mimeType: 'text/plain', text: 'the report' }];

  it('can be read through the same endpoint, in both eras', async () => {
    const script = (words: object, cached: object): Script => ({
      'tools/call': (turn) => turn.result({ ...words, content: [link] }),
      'resources/read': (turn) =>
        turn.message.params.uri === link.uri
          ? turn.result({ ...words, ...cached, contents })
          : turn.error(-32602, 'no such resource'),
    });
    const complete = { resultType: 'complete' };
    for (const { url } of [
      await behindLegacy(script({}, {})),
      await behindModern(script(complete, { ttlMs: 0, cacheScope: 'private' })),
    ]) {
      for (const client of [await connectV1(url), await connectV2(url)]) {
        const called = (await client.callTool({ name: 'work', arguments: {} })) as Json;
        expect(called.content).toEqual([link]);
        const read = (await client.readResource({ uri: called.content[0].uri })) as Json;
        expect(read.contents).toEqual(contents);
      }
    }
  });
});

describe('clients with sessions of their own', verifies('flow:multi-client:stateful-isolation'), () => {
  it('get their own notifications only', async () => {
    // Each call is told of on the standalone stream of its session, and on that of no other.
    const streams = new Map<string, Turn>();
    const sessionOf = (turn: Turn) => String(turn.received.headers['mcp-session-id']);
    const { url } = await behindLegacy({
      GET: (turn) => void streams.set(sessionOf(turn), turn.stream()),
      'tools/call': (turn) => {
        const data = turn.message.params.arguments.who;
        const tell = () => {
          streams.get(sessionOf(turn))?.event(notification('notifications/message', { level: 'info', data }));
          turn.result(text(data));
        };
        void until(() => streams.has(sessionOf(turn)), 'the gateway listens').then(tell);
      },
    });
    const names = ['Ada', 'Grace', 'Barbara'];
    const heard = new Map<string, Json[]>(names.map((name) => [name, []]));
    const clients = await Promise.all(
      names.map((name) =>
        connectV1(url, {
          prepare: (client) => {
            client.fallbackNotificationHandler = async ({ params }) => void heard.get(name)?.push(params?.data);
          },
        }),
      ),
    );
    for (let round = 0; round < 3; round++) {
      await Promise.all(clients.map((client, n) => client.callTool({ name: 'work', arguments: { who: names[n] } })));
    }
    await until(() => names.every((name) => (heard.get(name) ?? []).length >= 3), 'all were told');
    expect([...heard]).toEqual(names.map((name) => [name, [name, name, name]]));
  });

  it('and modern clients beside them change nothing', async () => {
    const { url } = await behindLegacy({
      'tools/call': (turn) => turn.result(text(String(turn.received.headers['mcp-session-id']))),
    });
    const client = await connectLegacy(url);
    const before = (await client.post(call(1))).json();
    const params = { name: 'work', arguments: {} };
    const other = (await send(url, modern({ id: 1, method: 'tools/call', params }))).json();
    expect(other.result.content).not.toEqual(before.result.content);
    expect((await client.post(call(1))).json()).toEqual(before);
  });
});
