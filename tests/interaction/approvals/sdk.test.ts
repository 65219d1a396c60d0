/** Official clients of both eras: approvals are elicitations that they know, and errors that they pass on. */
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { connectV1, connectV2 } from '../harness/sdk.ts';
import { Office, steps } from './setup.ts';

const call = { name: 'delete', arguments: { path: '/a' } };

interface Connected {
  callTool(call: object): Promise<unknown>;
}

const clients = [
  {
    name: 'SDK v1, legacy',
    connect: async (url: string, headers: Record<string, string>, asked: string[], action?: 'accept' | 'decline') =>
      (await connectV1(url, {
        headers,
        capabilities: action === undefined ? {} : { elicitation: {} },
        prepare: (client) => {
          if (action === undefined) return;
          client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
            asked.push(params.message);
            return { action };
          });
        },
      })) as unknown as Connected,
  },
  {
    name: 'SDK v2, modern',
    connect: async (url: string, headers: Record<string, string>, asked: string[], action?: 'accept' | 'decline') =>
      (await connectV2(url, {
        headers,
        capabilities: action === undefined ? {} : { elicitation: { form: {} } },
        prepare: (client) => {
          if (action === undefined) return;
          client.setRequestHandler('elicitation/create', ({ params }) => {
            asked.push(params.message);
            return { action };
          });
        },
      })) as unknown as Connected,
  },
];

describe.each(clients)('$name', ({ connect }) => {
  async function open(by: string, action?: 'accept' | 'decline') {
    const office = await Office.open({ terms: { by } });
    const asked: string[] = [];
    const url = `${office.setting.origin}/mcp`;
    return { office, asked, client: await connect(url, { authorization: `Bearer ${office.key}` }, asked, action) };
  }

  it('asks its user, and the call is made', verifies('gateway:approval:caller'), async () => {
    const { office, asked, client } = await open('caller', 'accept');
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: 'deleted' }] });
    expect(asked).toEqual([expect.stringContaining('Allow tools/call "delete" of the backend "b" once?')]);
    expect(steps(office.records)).toEqual(['asked', 'answered approved', 'executed', 'outcome']);
  });

  it('gets an error where its user declines', verifies('gateway:approval:caller'), async () => {
    const { office, client } = await open('caller', 'decline');
    await expect(client.callTool(call)).rejects.toThrow('A person has denied this call');
    expect(office.backend.of('tools/call')).toHaveLength(0);
  });

  it(
    'without elicitation gets the page, and comes back after the approval',
    verifies('gateway:approval:page'),
    async () => {
      const { office, client } = await open('other');
      await expect(client.callTool(call)).rejects.toThrow(`${office.setting.origin}/console#/approvals/`);
      await (await office.signIn('bob')).answerOnly('approve');
      expect(await client.callTool(call)).toMatchObject({ content: [{ text: 'deleted' }] });
      await expect(client.callTool(call)).rejects.toThrow('has to approve this call first');
    },
  );
});
