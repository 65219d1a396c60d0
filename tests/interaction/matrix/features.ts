/**
 * One row a feature: what the backend does, what the client wants, and what came of it. Which eras they are of, no row
 * knows.
 */
import type { Era } from '../../../src/wire/revisions.ts';
import type { RequirementId } from '../../requirements/catalogue.ts';
import { text } from '../harness/behind.ts';
import { Gate } from '../harness/gate.ts';
import { refused } from './actors.ts';
import {
  accepted,
  asking,
  call,
  form,
  one,
  places,
  returning,
  roots,
  type Scene,
  sample,
  sampled,
  tool,
  visit,
  visitFirst,
} from './scenes.ts';
import type { Transport } from './wires.ts';
import { ofResult, refusal, works } from './words.ts';

export interface Feature {
  readonly name: string;
  /**
   * Beside that the four pairs work: what it proves for a legacy client of a modern backend, and the other way round.
   */
  readonly proves?: Crossing;
  /** What the client declares. */
  readonly capabilities?: object;
  /** The era of backends that have it. Both without it. */
  readonly only?: Era;
  act(era: Era): Scene;
  /** Where something else comes of it than that it works. */
  readonly otherwise?: readonly Exception[];
}

interface Crossing {
  readonly down?: readonly RequirementId[];
  readonly up?: readonly RequirementId[];
}

export interface Exception {
  readonly client?: Era;
  readonly backend?: Era;
  readonly over?: Transport;
  readonly words: string;
}

const elicitation = { elicitation: { form: {}, url: {} } };
const asks: Crossing = {
  down: ['gateway:bridge:legacy-elicitation-on-modern', 'gateway:bridge:rounds-state'],
  up: ['gateway:bridge:parked-call'],
};
const both = (...ids: readonly RequirementId[]): Crossing => ({ down: ids, up: ids });
const uri = 'demo://note';
const logged = 'notifications/message';

export const features: readonly Feature[] = [
  {
    name: 'tool call',
    proves: { down: ['gateway:bridge:results-stripped'], up: ['gateway:bridge:results-completed'] },
    act: () =>
      tool(
        ({ params }) => text(JSON.stringify(params.arguments)),
        async ({ client }) => ofResult(await client.request('tools/call', call), text('{"n":1}')),
      ),
  },
  {
    name: 'prompt',
    act: () =>
      returning('prompts/get', { name: 'p' }, { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }] }),
  },
  { name: 'resource', act: () => returning('resources/read', { uri }, { contents: [{ uri, text: 'note' }] }) },
  {
    name: 'completion',
    act: () =>
      returning(
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: 'v' } },
        { completion: { values: ['va', 'vb'], total: 2, hasMore: false } },
      ),
  },
  {
    name: 'structured output, an object',
    act: () => returning('tools/call', call, { ...text('{"n":1}'), structuredContent: { n: 1 } }),
  },
  {
    name: 'structured output, anything else',
    only: 'modern',
    act: () => returning('tools/call', call, { ...text('[1]'), structuredContent: [1] }),
    otherwise: [{ client: 'legacy', words: 'degraded: structuredContent inside an object' }],
  },
  {
    name: 'progress',
    act: () =>
      tool(
        ({ progress }) => {
          for (const so of [1, 2]) progress(so);
          return text('done');
        },
        async ({ client }) => {
          const { told, token } = await client.request('tools/call', call, { progressToken: 'mine' });
          return progressOf(told, token);
        },
      ),
  },
  {
    name: 'progress after a question',
    proves: { up: ['gateway:bridge:progress-remapped'] },
    capabilities: elicitation,
    act: () =>
      tool(
        async ({ ask, progress }) => {
          await ask({ q: form('Go on?') });
          for (const so of [1, 2]) progress(so);
          return text('done');
        },
        async ({ client }) => {
          const wish = { progressToken: 'mine', answer: () => accepted('yes') };
          const { told, token } = await client.request('tools/call', call, wish);
          return progressOf(told, token);
        },
      ),
  },
  {
    name: 'cancel',
    proves: { down: ['gateway:bridge:cancel-down'], up: ['gateway:bridge:cancel-up'] },
    act: () => {
      const begun = new Gate();
      const over = new Gate();
      return tool(
        async ({ params, cancelled }) => {
          if (params.arguments.n !== 1) return text('another');
          begun.open();
          await cancelled;
          over.open();
          return text('too late');
        },
        async ({ client }) => {
          const { result, error } = await client.request('tools/call', call, { giveUp: begun.opened });
          await over.opened;
          // What came after it, came before this.
          const next = await client.request('tools/call', { ...call, arguments: { n: 2 } });
          if (result !== undefined || error !== undefined) return 'answered all the same';
          return ofResult(next, text('another'));
        },
      );
    },
  },
  {
    name: 'elicitation, form',
    proves: asks,
    capabilities: elicitation,
    act: () => asking(one(form('Your name?'), accepted('Ada'))),
  },
  {
    name: 'elicitation, declined',
    proves: asks,
    capabilities: elicitation,
    act: () => asking(one(form('Your name?'), { action: 'decline' })),
  },
  {
    name: 'elicitation, URL',
    proves: both('gateway:bridge:url-elicitation'),
    capabilities: elicitation,
    act: () => asking(one(visit, { action: 'accept' })),
    // The id is of 2025-11-25 alone.
    otherwise: [
      { client: 'legacy', backend: 'modern', words: 'works, with elicitationId' },
      { client: 'modern', backend: 'legacy', words: 'works, without elicitationId' },
    ],
  },
  {
    name: 'elicitation, URL, before the call (-32042)',
    only: 'legacy',
    proves: { up: ['gateway:bridge:url-elicitation', 'gateway:bridge:errors-mapped'] },
    capabilities: elicitation,
    act: visitFirst,
    otherwise: [{ client: 'modern', words: 'works, as a question' }],
  },
  {
    name: 'elicitation, not declared',
    proves: both('gateway:bridge:capabilities-narrowed'),
    act: () => {
      const { deeds, run } = asking(one(form('Your name?'), accepted('Ada')));
      return {
        deeds,
        run: async (stage) => {
          const words = await run(stage);
          return words === works ? 'passed on all the same' : words;
        },
      };
    },
    otherwise: [
      { client: 'modern', backend: 'modern', words: 'passed on all the same' },
      { client: 'modern', backend: 'legacy', words: 'refused: missing_capability' },
      { client: 'legacy', backend: 'legacy', words: 'refused: ask_not_supported' },
      { client: 'legacy', backend: 'modern', words: 'refused: cancel in its place' },
    ],
  },
  {
    name: 'sampling',
    proves: both('gateway:bridge:sampling-roots'),
    capabilities: { sampling: {} },
    act: () => asking(one(sample, sampled)),
  },
  {
    name: 'roots',
    proves: both('gateway:bridge:sampling-roots'),
    capabilities: { roots: {} },
    act: () => asking(one(roots, places)),
  },
  {
    name: 'two questions at once',
    proves: asks,
    capabilities: elicitation,
    act: () =>
      asking({
        questions: { a: form('Your name?'), b: form('Her name?') },
        answers: { a: accepted('Ada'), b: accepted('Grace') },
      }),
  },
  {
    name: 'three rounds',
    proves: asks,
    capabilities: { ...elicitation, sampling: {}, roots: {} },
    act: () =>
      asking(
        { questions: { a: form('Your name?') }, answers: { a: accepted('Ada') } },
        { questions: { b: sample }, answers: { b: sampled } },
        { questions: { c: roots }, answers: { c: places } },
      ),
  },
  {
    name: 'log level',
    proves: { down: ['gateway:bridge:set-level'] },
    act: () =>
      tool(
        ({ log }) => {
          for (const level of ['debug', 'info', 'error']) log(level, `of ${level}`);
          return text('logged');
        },
        async ({ client }) => {
          await client.request('tools/call', call, { logLevel: 'info' });
          // Where it does not belong to the call, it comes on another stream, and perhaps later.
          await client.hears(logged, ({ level }) => level === 'error');
          const heard = client.told.filter(({ method }) => method === logged).map(({ params }) => params.level);
          return `${heard}` === 'info,error' ? works : `heard: ${heard.join(', ')}`;
        },
      ),
  },
  {
    name: 'list change',
    proves: { down: ['gateway:bridge:subscribe-to-listen'], up: ['gateway:bridge:listen-to-subscribe'] },
    act: () => ({
      deeds: { 'tools/list': () => ({ tools: [] }) },
      run: async ({ client, backend }) => {
        await client.request('tools/list');
        await client.listen([]);
        await backend.toolsChanged();
        await client.hears('notifications/tools/list_changed');
        return works;
      },
    }),
  },
  {
    name: 'resource update',
    proves: { down: ['gateway:bridge:subscribe-to-listen'], up: ['gateway:bridge:listen-to-subscribe'] },
    act: () => ({
      deeds: {},
      run: async ({ client, backend }) => {
        await client.listen([uri]);
        await backend.resourceUpdated(uri);
        const { params } = await client.hears('notifications/resources/updated');
        return params.uri === uri ? works : `not so: ${JSON.stringify(params)}`;
      },
    }),
  },
  {
    name: 'pagination',
    act: () => ({
      deeds: { 'tools/list': ({ params: { cursor = '0' } }) => page(Number(cursor)) },
      run: async ({ client }) => {
        const names: string[] = [];
        for (let cursor: string | undefined = '0'; cursor !== undefined; ) {
          const { result } = await client.request('tools/list', cursor === '0' ? {} : { cursor });
          names.push(...result.tools.map(({ name }: { name: string }) => name));
          cursor = result.nextCursor;
        }
        return `${names}` === 'tool-0,tool-1,tool-2' ? works : `heard: ${names}`;
      },
    }),
  },
  {
    name: 'error of a tool',
    act: () => returning('tools/call', call, { ...text('Out of paper'), isError: true }),
  },
  {
    name: 'error of a server',
    act: () => {
      const error = { code: -32000, message: 'Out of paper', data: { tray: 2 } };
      return tool(
        () => {
          throw refused(error.code, error.message, error.data);
        },
        async ({ client }) => {
          const came = await client.request('tools/call', call);
          return JSON.stringify(came.error) === JSON.stringify(error) ? works : refusal(came.error ?? {});
        },
      );
    },
  },
  {
    name: 'resource that is not there',
    proves: both('gateway:bridge:errors-mapped'),
    act: (era) => {
      const code = missing[era];
      return {
        deeds: {
          'resources/read': () => {
            throw refused(code, 'Resource not found', { uri });
          },
        },
        run: async ({ client }) => {
          const { error } = await client.request('resources/read', { uri });
          if (error?.code !== missing[client.era] || error.data.uri !== uri) return refusal(error ?? {});
          return error.code === code ? works : `${works}, ${code} becomes ${error.code}`;
        },
      };
    },
    otherwise: [
      { client: 'legacy', backend: 'modern', words: 'works, -32602 becomes -32002' },
      { client: 'modern', backend: 'legacy', words: 'works, -32002 becomes -32602' },
    ],
  },
];

/** What servers of each era answer. */
const missing: Readonly<Record<Era, number>> = { legacy: -32002, modern: -32602 };

const page = (n: number) => ({
  tools: [{ name: `tool-${n}`, inputSchema: { type: 'object' } }],
  ...(n < 2 && { nextCursor: String(n + 1) }),
});

function progressOf(told: readonly { method: string; params: object }[], progressToken: string | undefined): string {
  const heard = told.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params);
  const expected = [1, 2].map((progress) => ({ progressToken, progress }));
  return JSON.stringify(heard) === JSON.stringify(expected) ? works : `heard: ${JSON.stringify(heard)}`;
}
