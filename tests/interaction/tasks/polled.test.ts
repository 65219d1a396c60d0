/** Tools of modern backends that run only as tasks, called by clients without tasks. */
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { connectV1, connectV2 } from '../harness/sdk.ts';
import { openWorkshop } from './workshop.ts';

const answer = async () => ({ action: 'accept' as const, content: { confirm: true } });

interface Options {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { readonly message?: string | undefined }) => void;
}
type CallTool = (name: string, args?: Record<string, unknown>, options?: Options) => Promise<object>;

const clients: Readonly<Record<'legacy' | 'modern', (url: string) => Promise<CallTool>>> = {
  legacy: async (url) => {
    const client = await connectV1(url, {
      capabilities: { elicitation: {} },
      prepare: (own) => own.setRequestHandler(ElicitRequestSchema, answer),
    });
    return (name, args = {}, options) =>
      client.request({ method: 'tools/call', params: { name, arguments: args } }, CallToolResultSchema, options);
  },
  modern: async (url) => {
    const client = await connectV2(url, {
      capabilities: { elicitation: {} },
      prepare: (own) => own.setRequestHandler('elicitation/create', answer),
    });
    return (name, args = {}, options) => client.callTool({ name, arguments: args }, options);
  },
};

describe.each(['legacy', 'modern'] as const)('for a %s client', (era) => {
  describe.each([
    { path: '/one', prefix: '' },
    { path: '/merged', prefix: 'jobs__' },
  ])('at $path', ({ path, prefix }) => {
    const open = async () => {
      const jobs = await openWorkshop('jobs');
      const gateway = await startGateway({
        backends: { jobs: { url: jobs.backend.url }, other: { url: (await openWorkshop('other')).backend.url } },
        endpoints: [
          { path: '/one', backends: ['jobs'], tasks: 'poll' },
          { path: '/merged', tasks: 'poll' },
        ],
      });
      return { jobs, call: await clients[era](`${gateway.origin}${path}`) };
    };

    it('the call has the result of its task, or its error', verifies('gateway:tasks:polled'), async () => {
      const { jobs, call } = await open();
      const failed = { content: [{ type: 'text', text: 'the job failed' }], isError: true };
      expect(await call(`${prefix}failing_job`)).toMatchObject(failed);
      await expect(call(`${prefix}protocol_error_job`)).rejects.toThrow('the job broke');
      const made = [...jobs.jobs.values()].map(({ name }) => name);
      expect(made).toEqual(['failing_job', 'protocol_error_job']);
    });

    it('the client is asked what its task asks, each question once', verifies('gateway:tasks:polled'), async () => {
      const { call } = await open();
      const text = (json: string) => ({ content: [{ type: 'text', text: `answered: ${json}` }] });
      const yes = '{"action":"accept","content":{"confirm":true}}';
      expect(await call(`${prefix}confirm_delete`, { filename: 'a' })).toMatchObject(text(`{"confirm":${yes}}`));
      expect(await call(`${prefix}multi_input`)).toMatchObject(text(`{"first":${yes},"second":${yes}}`));
    });

    it(
      'a client that cancels its call cancels the task; until then it hears of it',
      verifies('gateway:tasks:polled'),
      async () => {
        const { jobs, call } = await open();
        const stop = new AbortController();
        const heard: (string | undefined)[] = [];
        const onprogress = ({ message }: { readonly message?: string | undefined }) => {
          heard.push(message);
          stop.abort();
        };
        await expect(call(`${prefix}held`, {}, { signal: stop.signal, onprogress })).rejects.toThrow();
        await jobs.backend.arrival('tasks/cancel');
        expect(heard[0]).toBe('working here');
        expect(jobs.last('held').status).not.toBe('working');
      },
    );

    it('a task that its backend cancels or forgets fails the call', verifies('gateway:tasks:polled'), async () => {
      const { jobs, call } = await open();
      const calling = call(`${prefix}held`);
      await jobs.backend.arrival('tasks/get');
      jobs.jobs.clear();
      await expect(calling).rejects.toThrow('The task of the call ended without a result');
    });
  });
});

it(
  'a modern client at another endpoint gets the refusal of the backend',
  verifies('gateway:tasks:polled'),
  async () => {
    const jobs = await openWorkshop('jobs');
    const gateway = await startGateway({ backends: { jobs: { url: jobs.backend.url } } });
    const answer = await send(gateway.url('jobs'), modern({ method: 'tools/call', params: { name: 'failing_job' } }));
    expect(answer.status).toBe(400);
    expect(answer.json().error.code).toBe(-32021);
    expect(jobs.jobs.size).toBe(0);
  },
);
