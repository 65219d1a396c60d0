/** A legacy client's one session over many backends of both eras. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { cancelled, Held, notification, text } from '../harness/behind.ts';
import { type Json, type OpenAnswer, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import type { Script, Turn } from '../harness/http-backend.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';
import { enter, enterLegacy, heard, namesOf, openMarket, signature } from './setup.ts';
import { openShop, prompt, resource, type Shop, sessionOf, tool } from './shop.ts';

/** Longer than any test takes. */
const HOUR_MS = 3_600_000;
const toolsChanged = 'notifications/tools/list_changed';
const promptsChanged = 'notifications/prompts/list_changed';

const goods = { tools: [tool('t')], prompts: [prompt('p')], ttlMs: 600_000 };
const both = (script: Script = {}) =>
  Promise.all([
    openShop('modern', 'm', { ...goods, script }),
    openShop('legacy', 'l', { ...goods, script }),
    openShop('legacy', 'k', { ...goods, script }),
  ]);

describe('a list change', () => {
  it('is notified once, whichever backend sends it', verifies('gateway:catalog:subscriptions'), async () => {
    const shops = await both();
    const guest = await enterLegacy((await openMarket(shops)).url());
    await guest.all('tools/list');
    const stream = await guest.listen({});
    for (const [index, shop] of shops.entries()) {
      await shop.changed('tools');
      await until(() => heard(stream, toolsChanged).length === index + 1, `${shop.name} is heard`);
    }
    await shops[2].changed('prompts');
    await until(() => heard(stream, promptsChanged).length > 0, 'what came after it is heard');
    expect(heard(stream, toolsChanged)).toHaveLength(shops.length);
  });

  it.each(eras)(
    'in a storm at a %s backend is notified at its beginning and at its end',
    verifies('gateway:catalog:storms'),
    async (era) => {
      const clock = new LeapClock();
      const shops = await both();
      const gateway = await openMarket(shops, { limits: { changesMs: HOUR_MS }, ports: { clock } });
      const guest = await enterLegacy(gateway.url());
      await guest.all('tools/list');
      const stream = await guest.listen({});
      const shop = shops.find((one) => one.era === era) as Shop;
      await shop.changed('tools', 100);
      await shop.changed('prompts');
      await until(() => heard(stream, promptsChanged).length === 1, 'all is heard');
      expect(heard(stream, toolsChanged)).toHaveLength(1);
      // The session lives: it is not idle while somebody reads.
      clock.leap(HOUR_MS);
      await until(() => heard(stream, toolsChanged).length === 2, 'the end is told');
    },
  );

  it('goes to one of two streams, not to both', verifies('gateway:catalog:subscriptions'), async () => {
    const shops = await both();
    const guest = await enterLegacy((await openMarket(shops)).url());
    const streams = [await guest.listen({}), await guest.listen({})];
    const all = (method: string) => streams.flatMap((stream) => heard(stream, method)).length;
    await shops[1].changed('tools');
    await until(() => all(toolsChanged) > 0, 'it is told');
    await shops[1].changed('prompts');
    await until(() => all(promptsChanged) > 0, 'what came after it is told');
    expect([all(toolsChanged), all(promptsChanged)]).toEqual([1, 1]);
  });
});

describe('logging/setLevel', () => {
  const logging = (turn: Turn) => {
    turn.stream();
    for (const level of ['debug', 'error']) {
      turn.event(notification('notifications/message', { level, data: `${level} ${turn.message.params.name}` }));
    }
    turn.event({ jsonrpc: '2.0', id: turn.message.id, result: { resultType: 'complete', ...text('logged') } }).end();
  };

  it('reaches every backend, also those that are opened later', verifies('gateway:catalog:sessions'), async () => {
    const shops = await both({ 'tools/call': logging });
    const [m, l, k] = shops;
    const guest = await enterLegacy((await openMarket(shops)).url());
    expect(await guest.ask('logging/setLevel', { level: 'error' })).toMatchObject({ result: {} });
    for (const shop of [l, k]) {
      expect((await shop.backend.arrival('logging/setLevel')).message.params).toEqual({ level: 'error' });
    }
    const answer = await guest.begin('tools/call', { name: 'm__t' });
    await answer.ended;
    const { message } = await m.backend.arrival('tools/call');
    expect(message.params._meta['io.modelcontextprotocol/logLevel']).toBe('error');
    expect(heard(answer, 'notifications/message').map(({ params }) => params.level)).toEqual(['error']);
    expect((await guest.ask('logging/setLevel', { level: 'loud' })).error).toMatchObject({ code: -32602 });
  });
});

describe('a server request', () => {
  const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
  const capabilities = { elicitation: {}, sampling: {}, roots: {} };
  const sampling = { messages: [], maxTokens: 1 };
  const asked: Readonly<Record<string, object>> = {
    'elicitation/create': form,
    'sampling/createMessage': sampling,
    'roots/list': {},
  };
  const answers: Readonly<Record<string, object>> = {
    'elicitation/create': { action: 'accept', content: { who: 'Ada' } },
    'sampling/createMessage': { role: 'assistant', model: 'x', content: { type: 'text', text: 'hm' } },
    'roots/list': { roots: [{ uri: 'file:///a' }] },
  };

  /** A tool of either era that asks with the method that its argument names, and returns what it got. */
  function asking(name: string, waiting: Map<unknown, Turn>): Script {
    const done = (turn: Turn, got: unknown) => ({
      jsonrpc: '2.0',
      id: turn.message.id,
      result: { resultType: 'complete', ...text(`${name}: ${JSON.stringify(got)}`) },
    });
    return {
      'tools/call': (turn) => {
        const { method } = turn.message.params.arguments;
        if (name === 'm') {
          const given = turn.message.params.inputResponses?.q;
          if (given !== undefined) turn.json(done(turn, given));
          else
            turn.result({
              resultType: 'input_required',
              inputRequests: { q: { method, params: asked[method] } },
              requestState: 's',
            });
          return;
        }
        waiting.set(`${name} ${turn.message.id}`, turn.stream());
        turn.event({ jsonrpc: '2.0', id: `${name} ${turn.message.id}`, method, params: asked[method] });
      },
      POST: (turn) => {
        turn.raw(202, {});
        const call = waiting.get(turn.message.id);
        call?.event(done(call, turn.message.result)).end();
      },
    };
  }

  it(
    'of each of several backends, all at once, gets its own answer',
    verifies('gateway:catalog:sessions'),
    async () => {
      const waiting = new Map<unknown, Turn>();
      const shops = await Promise.all([
        openShop('modern', 'm', { ...goods, script: asking('m', waiting) }),
        openShop('legacy', 'l', { ...goods, script: asking('l', waiting) }),
        openShop('legacy', 'k', { ...goods, script: asking('k', waiting) }),
      ]);
      const guest = await enterLegacy((await openMarket(shops)).url(), { capabilities });
      const methods = Object.keys(asked);
      const calls = await Promise.all(
        shops.flatMap(({ name }) =>
          methods.map(async (method) => ({
            name,
            method,
            stream: await guest.begin('tools/call', { name: `${name}__t`, arguments: { method } }),
          })),
        ),
      );
      for (const { name, method, stream } of calls) {
        const question = await stream.message((message) => message.method !== undefined && message.id !== undefined);
        expect({ name, method: question.method }).toEqual({ name, method });
        const signed = { ...answers[method], _meta: { for: `${name} ${method}` } };
        await guest.client.post({ jsonrpc: '2.0', id: question.id, result: signed });
        const answer = await stream.message(({ result }) => result !== undefined);
        expect(signature(answer)).toBe(`${name}: ${JSON.stringify(signed)}`);
      }
    },
  );

  it(
    'outside any call reaches the client, and its answer the backend that sent it',
    verifies('gateway:catalog:sessions'),
    async () => {
      const got: Json[] = [];
      const [l, k] = await Promise.all(
        ['l', 'k'].map((name) =>
          openShop('legacy', name, {
            ...goods,
            script: {
              POST: (turn) => {
                got.push({ name, ...turn.message });
                turn.raw(202, {});
              },
            },
          }),
        ),
      );
      const guest = await enterLegacy((await openMarket([l!, k!])).url(), { capabilities });
      const stream = await guest.listen({});
      for (const shop of [l!, k!]) {
        const standing = await shop.backend.standing();
        standing.event({ jsonrpc: '2.0', id: 7, method: 'roots/list' });
      }
      for (const nth of [0, 1]) {
        await until(() => heard(stream, 'roots/list').length > nth, 'the question is heard');
        const { id } = heard(stream, 'roots/list')[nth];
        await guest.client.post({ jsonrpc: '2.0', id, result: { roots: [], nth } });
      }
      await until(() => got.length === 2, 'both have an answer');
      expect(got.map(({ name, id }) => `${name} ${id}`).sort()).toEqual(['k 7', 'l 7']);
      expect(got.map(({ result }) => result.nth).sort()).toEqual([0, 1]);
    },
  );
});

it.each([0, 1])(
  'progress and cancellation belong to the one call (%i)',
  verifies('gateway:catalog:cancel-routed'),
  async (which) => {
    const held = new Map<string, Held>();
    const told: string[] = [];
    const shops = await Promise.all(
      eras.map((era) => {
        const calls = new Held();
        held.set(era, calls);
        return openShop(era, era, {
          ...goods,
          script: {
            'tools/call': (turn) => calls.take(turn.stream()),
            'notifications/cancelled': (turn) => {
              told.push(`${era} ${turn.message.params.requestId}`);
              turn.raw(202, {});
            },
          },
        });
      }),
    );
    const guest = await enterLegacy((await openMarket(shops)).url());
    const call = (name: string, id: number) =>
      guest.client.stream({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: `${name}__t`, _meta: { progressToken: `of ${name}` } },
      });
    const streams: OpenAnswer[] = [];
    for (const [index, { name }] of shops.entries()) {
      const opening = call(name, index);
      const turn = await held.get(name)!.nth(1);
      const { progressToken } = turn.message.params._meta;
      turn.event(notification('notifications/progress', { progressToken, progress: index }));
      const stream = await opening;
      const { params } = await stream.message(({ method }) => method === 'notifications/progress');
      expect(params).toEqual({ progressToken: `of ${name}`, progress: index });
      streams.push(stream);
    }
    await guest.client.post(cancelled(which));
    await streams[which]!.ended;
    const [stopped, other] = which === 0 ? shops : [shops[1]!, shops[0]!];
    const turn = await held.get(stopped!.name)!.nth(1);
    // A modern backend is told by the end of the stream.
    if (stopped!.era === 'legacy') await until(() => told.includes(`legacy ${turn.message.id}`), 'it is told');
    else await turn.closed;
    const kept = await held.get(other!.name)!.nth(1);
    kept.event({ jsonrpc: '2.0', id: kept.message.id, result: { resultType: 'complete', ...text('done') } }).end();
    expect(signature(await streams[1 - which]!.message(({ result }) => result !== undefined))).toBe('done');
    expect(told).toEqual(stopped!.era === 'legacy' ? [`legacy ${turn.message.id}`] : []);
  },
);

describe('an upstream session that is lost', () => {
  const setting = async () => {
    const script = { 'tools/call': (turn: Turn) => turn.result(text(`in ${sessionOf(turn)}`)) };
    const l = await openShop('legacy', 'l', { tools: [tool('t')], resources: [resource('l://r')], script });
    const k = await openShop('legacy', 'k', { tools: [tool('t')], resources: [resource('k://r')] });
    return { l, k, gateway: await openMarket([l, k]) };
  };

  it(
    'is opened anew for a call, with all that was agreed on, and the client keeps its own',
    verifies('gateway:catalog:sessions'),
    async () => {
      const { l, k, gateway } = await setting();
      const guest = await enterLegacy(gateway.url());
      await guest.ask('logging/setLevel', { level: 'error' });
      const stream = await guest.listen({ resourceSubscriptions: ['l://r'] });
      const call = async () => signature(await guest.ask('tools/call', { name: 'l__t' }));
      const first = await call();
      await guest.all('tools/list');
      const opened = k.count('initialize');

      l.forgetSessions();
      // It was not taken, so that it may be sent again.
      const second = await call();
      expect(second).toMatch(/^in /);
      expect(second).not.toBe(first);
      expect(await call()).toBe(second);
      await until(() => l.count('resources/subscribe') === 2 && l.count('logging/setLevel') === 2, 'it is told again');
      await l.updated('l://r');
      const updated = 'notifications/resources/updated';
      await stream.message(({ method, params }) => method === updated && params.uri === 'l://r');
      expect(stream.over).toBe(false);
      expect(k.count('initialize')).toBe(opened);
    },
  );

  it.each(eras)('is opened anew for a list of a %s client', verifies('gateway:catalog:sessions'), async (era) => {
    const { l, gateway } = await setting();
    const guest = await enter(era, gateway.url());
    await guest.ask('tools/call', { name: 'l__t' });
    l.forgetSessions();
    const [page] = await guest.pages('tools/list');
    expect(namesOf(page.tools)).toEqual(['l__t', 'k__t']);
    expect(page._meta).toBeUndefined();
  });
});

it('a process that exits is started again for its subscriptions', verifies('gateway:catalog:sessions'), async () => {
  const clock = new LeapClock();
  const process = await legacyProcess({
    'resources/list': (turn) => turn.result({ resources: [resource('note://r')] }),
    'resources/templates/list': (turn) => turn.result({ resourceTemplates: [] }),
    'resources/subscribe': (turn) => turn.result({}),
  });
  const other = await openShop('modern', 'other', goods);
  const gateway = await startGateway(
    { backends: { p: { command: process.command, args: process.args }, other: { url: other.backend.url } } },
    { clock },
  );
  const guest = await enterLegacy(gateway.url());
  const stream = await guest.listen({ resourceSubscriptions: ['note://r'] });
  const { process: first } = await process.arrival('resources/subscribe');
  clock.leap(60_000);
  first.exit(1);
  await until(() => {
    if (process.of('resources/subscribe').length === 1) clock.leap(1000);
    return process.of('resources/subscribe').length === 2;
  }, 'it is subscribed to again');
  const { process: second } = await process.arrival('resources/subscribe', 2);
  second.say(notification('notifications/resources/updated', { uri: 'note://r' }));
  await stream.message(({ method }) => method === 'notifications/resources/updated');
});

it('the end of the session is the end of all its sessions upstream', verifies('gateway:catalog:sessions'), async () => {
  const shops = await both();
  const guest = await enterLegacy((await openMarket(shops)).url());
  for (const { name } of shops) await guest.ask('tools/call', { name: `${name}__t` });
  expect((await guest.client.end()).status).toBe(204);
  const [, l, k] = shops;
  for (const { backend } of [l, k]) {
    await until(() => backend.received.some(({ http }) => http === 'DELETE'), 'the session upstream is ended');
  }
});
