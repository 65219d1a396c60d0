/** What is sent together or without an answer: batches, notifications, JSON-RPC services; and tasks. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';
import { launchService } from '../json-rpc/setup.ts';
import { Office, steps } from './setup.ts';

const call = (id: number, name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

describe('a batch of MCP', () => {
  it('is denied as a whole until each member is approved', verifies('gateway:approval:together'), async () => {
    const endpoints = [{ path: '/mcp', profile: { batches: 'allow' } }];
    const office = await Office.open({ more: { endpoints } });
    const credentials = { authorization: `Bearer ${office.key}` };
    const client = await connectLegacy(`${office.setting.origin}/mcp`, { revision: '2025-03-26' }, credentials);
    const batch = [call(1, 'read'), call(2, 'delete', { n: 1 }), call(3, 'delete', { n: 2 })];
    const bob = await office.signIn('bob');
    for (const left of [2, 1]) {
      const answers: Json[] = (await client.post(batch)).json();
      expect(answers.map(({ error }) => error.data.reason)).toEqual(Array(3).fill('approval_needed'));
      const questions = await bob.questions();
      expect(questions).toHaveLength(left);
      await bob.answer(questions[0], 'approve');
    }
    expect(office.backend.of('tools/call')).toHaveLength(0);
    const answers: Json[] = (await client.post(batch)).json();
    expect(answers.map(({ result }) => result.content[0].text)).toEqual(Array(3).fill('deleted'));
    const again: Json[] = (await client.post(batch)).json();
    expect(again.map(({ error }) => error.data.reason)).toEqual(Array(3).fill('approval_needed'));
    expect(office.backend.of('tools/call')).toHaveLength(3);
  });
});

describe('a JSON-RPC service', () => {
  async function openShop() {
    const service = await launchService();
    const office = await Office.open({
      more: {
        backends: { b: { protocol: 'json-rpc', url: service.url } },
        endpoints: [{ path: '/rpc', protocol: 'json-rpc', backends: ['b'] }],
      },
    });
    const post = (body: object) =>
      send(`${office.setting.origin}/rpc`, { body, headers: { authorization: `Bearer ${office.key}` } });
    return { office, service, post };
  }
  const rpc = (id: number | undefined, method: string) => ({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    method,
    params: [1.0],
  });

  it('gets a call once it is approved, and once', verifies('gateway:approval:together'), async () => {
    const { office, service, post } = await openShop();
    expect((await post(rpc(1, 'delete'))).json().error.data.reason).toBe('approval_needed');
    await (await office.signIn('bob')).answerOnly('approve');
    expect((await post(rpc(2, 'delete'))).json().result.method).toBe('delete');
    expect((await post(rpc(3, 'delete'))).json().error.data.reason).toBe('approval_needed');
    expect(service.visits).toHaveLength(1);
    expect(steps(office.records)).toEqual(['asked', 'answered approved', 'executed', 'outcome', 'asked']);
  });

  it('gets nothing of a batch with a member that is not approved', verifies('gateway:approval:together'), async () => {
    const { service, post } = await openShop();
    const answers: Json[] = (await post([rpc(1, 'read'), rpc(2, 'delete')])).json();
    expect(answers.map(({ error }) => error.data.reason)).toEqual(['approval_needed', 'approval_needed']);
    expect(service.bytes).toBe(0);
  });

  it('gets no notification that would need an approval', verifies('gateway:approval:together'), async () => {
    const { service, office, post } = await openShop();
    expect((await post(rpc(undefined, 'delete'))).status).toBe(403);
    expect((await post([rpc(undefined, 'delete'), rpc(1, 'read')])).json()[0].error.data.reason).toBe(
      'approval_needed',
    );
    expect(service.bytes).toBe(0);
    expect(await (await office.signIn('bob')).questions()).toEqual([]);
  });
});

it('a task is asked about when it is created, and shown as one', verifies('gateway:approval:together'), async () => {
  const office = await Office.open();
  const plain = (await office.call({ n: 1 })).error.data.approval;
  const asTask = (await office.call({ n: 1 }, { task: { ttl: 60_000 } })).error.data.approval;
  expect(asTask).not.toBe(plain);
  const [, question] = await (await office.signIn('bob')).questions();
  expect(question.preview.text).toContain('As a task: {\n  "ttl": 60000\n}');
});
