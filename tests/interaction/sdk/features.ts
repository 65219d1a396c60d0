/**
 * What the official SDKs can do together, asked of each pair of client and server that does not speak the same
 * revision. A row is one feature: how a client uses it, and what it then sees. Nothing in it knows on which side of the
 * gateway which era is, except where the eras themselves have different words.
 */
import { expect } from 'vitest';
import { everyPage, text } from '../features/samples.ts';
import { type Json, until } from '../harness/client.ts';
import { refusal } from '../harness/pairs.ts';
import type { Backend } from './backends.ts';
import type { Feature } from './feature.ts';
import { asked } from './server-requests.ts';
import { diary, info, instructions, type Order, prompts, readme } from './world.ts';

/** Gives the order again until the outcome is there: it may be early for a stream that is being opened. */
async function nudged(backend: Backend, order: Order, isSo: () => boolean): Promise<void> {
  const giving = setInterval(() => backend.order(order), 50);
  try {
    backend.order(order);
    await until(isSo, `${JSON.stringify(order)} was heard of`);
  } finally {
    clearInterval(giving);
  }
}

const called: readonly Feature[] = [
  {
    name: 'who the server is',
    verifies: ['gateway:bridge:legacy-initialize', 'gateway:bridge:modern-discover'],
    run: async ({ speaker: { client } }) => {
      expect(client.getServerVersion()).toEqual(info);
      expect(client.getInstructions()).toBe(instructions);
      expect(client.getServerCapabilities()).toMatchObject({
        tools: {},
        prompts: {},
        resources: { subscribe: true },
        logging: {},
        completions: {},
      });
    },
  },
  {
    name: 'a call',
    verifies: ['gateway:bridge:four-pairs'],
    run: async ({ speaker }) => {
      const { tools } = await speaker.client.listTools();
      expect(tools.find(({ name }: Json) => name === 'echo')).toMatchObject({ name: 'echo', title: 'Echo' });
      expect((await speaker.call('echo', { text: 'hé\u2028' })).content).toEqual([text('hé\u2028')]);
    },
  },
  {
    name: 'structured output',
    verifies: ['gateway:bridge:four-pairs'],
    run: async ({ speaker }) => {
      const { tools } = await speaker.client.listTools();
      const { outputSchema } = tools.find(({ name }: Json) => name === 'add');
      expect(outputSchema).toMatchObject({ type: 'object', properties: { sum: { type: 'number' } } });
      expect(await speaker.call('add', { a: 1, b: 2 })).toMatchObject({
        content: [text('3')],
        structuredContent: { sum: 3 },
      });
    },
  },
  {
    name: 'progress',
    verifies: ['gateway:bridge:four-pairs'],
    run: async ({ speaker, backend }) => {
      const seen: Json[] = [];
      const call = speaker.call('count', { to: 3 }, { onprogress: (progress: Json) => void seen.push(progress) });
      await until(() => seen.length === 3, 'progress was heard of');
      backend.order({ kind: 'finish' });
      expect((await call).content).toEqual([text('counted')]);
      expect(seen).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
    },
  },
  {
    name: 'cancelling a call',
    verifies: ['gateway:bridge:cancel-down', 'gateway:bridge:cancel-up'],
    run: async ({ speaker, backend: { facts } }) => {
      const stop = new AbortController();
      const call = speaker.call('wait', {}, { signal: stop.signal });
      const rejected = expect(call).rejects.toThrow(/enough/);
      await until(() => facts.some(({ kind }) => kind === 'waiting'), 'the call is there');
      stop.abort(new Error('enough'));
      await rejected;
      await until(() => facts.some(({ kind }) => kind === 'cancelled'), 'the server heard of it');
      // And goes on.
      expect((await speaker.call('echo', { text: 'still here' })).content).toEqual([text('still here')]);
    },
  },
];

const told: readonly Feature[] = [
  {
    name: 'a log level',
    verifies: ['gateway:bridge:set-level', 'gateway:bridge:log-level-shared'],
    run: async ({ speaker }) => {
      const levels = () => speaker.heard.map(({ params }) => params.level);
      await speaker.level('warning');
      expect((await speaker.call('talk')).content).toEqual([text('talked')]);
      await until(() => speaker.heard.length >= 2, 'messages were heard');
      expect(levels()).toEqual(['warning', 'error']);
      expect(speaker.heard[0]).toMatchObject({ params: { logger: 'tool', data: { level: 'warning' } } });
      await speaker.level('debug');
      await speaker.call('talk');
      await until(() => speaker.heard.length >= 6, 'more messages were heard');
      expect(levels()).toEqual(['warning', 'error', 'debug', 'info', 'warning', 'error']);
    },
  },
  {
    name: 'a list that changes',
    verifies: ['gateway:bridge:subscribe-to-listen', 'gateway:bridge:listen-to-subscribe'],
    run: async ({ speaker, backend }) => {
      const names = async () => (await speaker.client.listTools()).tools.map(({ name }: Json) => name);
      expect(await names()).not.toContain('later');
      await speaker.watchTools();
      const changed = () => speaker.heard.some(({ method }) => method === 'notifications/tools/list_changed');
      await nudged(backend, { kind: 'grow' }, changed);
      expect(await names()).toContain('later');
      expect((await speaker.call('later')).content).toEqual([text('here')]);
    },
  },
  {
    name: 'a resource that changes, until nobody wants to know any more',
    verifies: ['gateway:bridge:subscribe-to-listen', 'gateway:bridge:listen-to-subscribe'],
    run: async ({ speaker, backend, version }) => {
      const updates = (uri: string) =>
        speaker.heard.filter(
          ({ method, params }) => method === 'notifications/resources/updated' && params.uri === uri,
        );
      const [first, second] = [await speaker.watch(readme), await speaker.watch(diary)];
      await nudged(backend, { kind: 'update', uri: readme }, () => updates(readme).length > 0);
      await nudged(backend, { kind: 'update', uri: diary }, () => updates(diary).length > 0);
      await first.end();
      const taken = () => backend.facts.some((fact) => fact.kind === 'unsubscribed' && fact.uri === readme);
      // A modern server is asked for the rest anew, on a stream that is opened before the old one is closed.
      if (version === 'v2') await until(taken, 'the server heard of the end');
      speaker.heard.length = 0;
      backend.order({ kind: 'update', uri: readme });
      await nudged(backend, { kind: 'update', uri: diary }, () => updates(diary).length > 0);
      expect(updates(readme)).toEqual([]);
      await second.end();
    },
  },
];

const looked: readonly Feature[] = [
  {
    name: 'lists in pages',
    verifies: ['gateway:bridge:four-pairs'],
    run: async ({ speaker: { client } }) => {
      const all = await everyPage('prompts', (params) => client.listPrompts(params));
      expect(all.map(({ name }: Json) => name)).toEqual(prompts);
      expect(await client.listPrompts({ cursor: 'from 2' })).toMatchObject({
        prompts: [{ name: 'p-2' }, { name: 'p-3' }],
        nextCursor: 'from 4',
      });
    },
  },
  {
    name: 'prompts',
    verifies: ['gateway:bridge:four-pairs'],
    run: async ({ speaker: { client } }) => {
      const { messages } = await client.getPrompt({ name: 'hello', arguments: { name: 'Ada' } });
      expect(messages).toEqual([{ role: 'user', content: text('hello Ada') }]);
    },
  },
  {
    name: 'completion',
    verifies: ['gateway:bridge:four-pairs'],
    run: async ({ speaker: { client } }) => {
      const argument = { name: 'name', value: 'a' };
      for (const ref of [
        { type: 'ref/prompt', name: 'hello' },
        { type: 'ref/resource', uri: 'note://{name}' },
      ]) {
        expect((await client.complete({ ref, argument })).completion).toMatchObject({ values: ['ada', 'alan'] });
      }
    },
  },
  {
    name: 'resources',
    verifies: ['gateway:bridge:four-pairs'],
    run: async ({ speaker: { client } }) => {
      const { resources } = await client.listResources();
      expect(resources).toMatchObject([{ uri: readme, mimeType: 'text/plain' }, { uri: diary }]);
      const { contents } = await client.readResource({ uri: readme });
      expect(contents).toEqual([{ uri: readme, mimeType: 'text/plain', text: `of ${readme}` }]);
    },
  },
  {
    name: 'resource templates',
    verifies: ['gateway:bridge:four-pairs'],
    run: async ({ speaker: { client } }) => {
      const { resourceTemplates } = await client.listResourceTemplates();
      expect(resourceTemplates).toMatchObject([{ name: 'note', uriTemplate: 'note://{name}' }]);
      const { contents } = await client.readResource({ uri: 'note://ada' });
      expect(contents).toEqual([{ uri: 'note://ada', text: 'note of ada' }]);
    },
  },
];

const refused: readonly Feature[] = [
  {
    name: 'a tool that fails',
    verifies: ['gateway:bridge:errors-mapped'],
    run: async ({ speaker }) => {
      expect(await speaker.call('fail')).toMatchObject({ isError: true, content: [text('it did not work')] });
    },
  },
  {
    name: 'a tool that does not exist',
    verifies: ['gateway:bridge:errors-mapped'],
    run: async ({ speaker, version }) => {
      const call = speaker.call('nowhere');
      // The older SDK answers with a result, the newer one with an error: it is the server's answer in both cases.
      if (version === 'v2') {
        const [{ text: said }] = (await call).content;
        expect(said).toMatch(/Tool nowhere not found/);
      } else expect(await refusal(call)).toMatchObject({ code: -32602, message: 'Tool nowhere not found' });
    },
  },
  {
    name: 'arguments that do not fit',
    verifies: ['gateway:bridge:errors-mapped'],
    run: async ({ speaker }) => {
      const answer = await speaker.call('echo', { text: 1 });
      expect(answer).toMatchObject({ isError: true });
      expect(answer.content[0].text).toMatch(/Input validation error/);
    },
  },
  {
    name: 'a prompt that does not exist',
    verifies: ['gateway:bridge:errors-mapped'],
    run: async ({ speaker: { client } }) => {
      const { code, message } = await refusal(client.getPrompt({ name: 'nowhere' }));
      expect({ code, message }).toEqual({ code: -32602, message: 'Prompt nowhere not found' });
    },
  },
  {
    name: 'a resource that does not exist',
    verifies: ['gateway:bridge:errors-mapped'],
    run: async ({ speaker: { client }, version }) => {
      const uri = 'note://nobody';
      expect(await refusal(client.readResource({ uri }))).toMatchObject({
        // As each era has it.
        code: version === 'v1' ? -32002 : -32602,
        data: { uri },
      });
    },
  },
];

export const features: readonly Feature[] = [...called, ...asked, ...told, ...looked, ...refused];
