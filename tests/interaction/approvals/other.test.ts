/** `effect: approval`, `by: other`: another person, who has signed in, decides on the page. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';
import { Office, steps } from './setup.ts';

const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('a call that another person has to approve', () => {
  it(
    'gets an error that names the page; after the approval the same call is sent, once',
    verifies('gateway:approval:other', 'gateway:approval:page', 'gateway:approval:records', 'gateway:approval:once'),
    async () => {
      const office = await Office.open();
      const { error } = await office.call();
      expect(error).toMatchObject({ code: 403, data: { reason: 'approval_needed', rules: ['ask'] } });
      expect(error.message).toContain(`${office.setting.origin}/console#/approvals/${error.data.approval}`);
      const bob = await office.signIn('bob');
      const [question] = await bob.questions();
      expect(question).toMatchObject({ id: error.data.approval, caller: 'key:agent', name: 'delete', backend: 'b' });
      expect((await bob.answer(question, 'approve')).status).toBe(200);
      expect(office.backend.of('tools/call')).toHaveLength(0);
      expect((await office.call()).result.content[0].text).toBe('deleted');
      expect((await office.call()).error.data.reason).toBe('approval_needed');
      expect(office.backend.of('tools/call')).toHaveLength(1);
      const own = office.records.filter(({ approval }) => approval?.id === question.id);
      expect(steps(own)).toEqual(['asked', 'answered approved', 'executed', 'outcome']);
      expect(own[1]).toMatchObject({ principal: { subject: 'bob' }, action: 'approve', name: 'delete', backend: 'b' });
      expect(own[3]).toMatchObject({ principal: { key: 'agent' }, outcome: 'result', decision: 'allow' });
    },
  );

  it(
    'that is denied gets approval_denied, and is not asked about again',
    verifies('gateway:approval:other'),
    async () => {
      const office = await Office.open();
      await office.call();
      const bob = await office.signIn('bob');
      await bob.answerOnly('deny');
      expect((await office.call()).error.data.reason).toBe('approval_denied');
      expect((await office.call()).error.data.reason).toBe('approval_denied');
      expect(await bob.questions()).toEqual([]);
      expect(steps(office.records)).toEqual(['asked', 'answered denied']);
      expect(office.backend.of('tools/call')).toHaveLength(0);
    },
  );

  it('waits, tells its progress, and is sent when the person agrees', verifies('gateway:approval:other'), async () => {
    const office = await Office.open({ limits: { approvalWaitMs: '9s' } });
    const credentials = { authorization: `Bearer ${office.key}` };
    const client = await connectLegacy(`${office.setting.origin}/mcp`, {}, credentials);
    const params = { name: 'delete', arguments: { path: '/a' }, _meta: { progressToken: 'p' } };
    const stream = await client.stream({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const told = await stream.message(({ method }) => method === 'notifications/progress');
    expect(told.params).toMatchObject({ progressToken: 'p', progress: 1 });
    await (await office.signIn('bob')).answerOnly('approve');
    await stream.ended;
    expect(stream.events.at(-1)?.json().result.content[0].text).toBe('deleted');
  });

  it(
    'of a modern client with URL elicitation asks it to open the page',
    verifies('gateway:approval:page'),
    async () => {
      const office = await Office.open();
      const visiting = { elicitation: { url: {} } };
      const { result } = await office.call({ path: '/a' }, {}, visiting);
      expect(result.inputRequests.approval.params).toMatchObject({ mode: 'url' });
      const { requestState } = result;
      const retry = { requestState, inputResponses: { approval: { action: 'accept' } } };
      expect((await office.call({ path: '/a' }, retry, visiting)).error.data.reason).toBe('approval_needed');
      await (await office.signIn('bob')).answerOnly('approve');
      expect((await office.call({ path: '/a' }, retry, visiting)).result.content[0].text).toBe('deleted');
      expect(office.backend.of('tools/call')).toHaveLength(1);
    },
  );

  it(
    'that is cancelled while it waits is not sent, though it is approved',
    verifies('gateway:approval:other'),
    async () => {
      const office = await Office.open({ limits: { approvalWaitMs: '9s' } });
      const credentials = { authorization: `Bearer ${office.key}` };
      const client = await connectLegacy(`${office.setting.origin}/mcp`, {}, credentials);
      const params = { name: 'delete', arguments: { path: '/a' }, _meta: { progressToken: 'p' } };
      const stream = await client.stream({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      await stream.message(({ method }) => method === 'notifications/progress');
      await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
      await (await office.signIn('bob')).answerOnly('approve');
      expect(office.backend.of('tools/call')).toHaveLength(0);
    },
  );

  it('is one question, however often it is made', verifies('gateway:approval:bounded'), async () => {
    const office = await Office.open();
    const ids = await Promise.all([1, 2, 3].map(async () => (await office.call()).error.data.approval));
    expect(new Set(ids).size).toBe(1);
    expect(steps(office.records)).toEqual(['asked']);
  });

  it('is refused where the principal has too many questions open', verifies('gateway:approval:bounded'), async () => {
    const office = await Office.open({ limits: { approvalsPerPrincipal: 2 } });
    for (const path of ['/1', '/2']) expect((await office.call({ path })).error.data.reason).toBe('approval_needed');
    expect((await office.call({ path: '/3' })).error.data.reason).toBe('too_many_approvals');
    await (await office.signIn('bob')).questions();
  });
});

describe('who approves', () => {
  it(
    'is never the caller, a person without the right, a key, or a token',
    verifies('gateway:approval:other'),
    async () => {
      const office = await Office.open();
      await office.call();
      const bob = await office.signIn('bob');
      const [question] = await bob.questions();
      // The caller, with its own key.
      const byKey = await answerWith(office, office.key, question);
      expect(byKey).toMatchObject({
        status: 403,
        body: { error: { message: expect.stringContaining('your own call') } },
      });
      // Another program, though the config lets it approve: a key is not a person, pasted at the page or not.
      const refused = { status: 403, body: { error: { message: expect.stringContaining('password') } } };
      expect(await answerWith(office, office.helper, question)).toMatchObject(refused);
      const pasted = await pastedSession(office, office.helper);
      expect(await answerWith(office, undefined, question, pasted)).toMatchObject(refused);
      // A person who may not approve does not even see it.
      const ada = await office.signIn('ada');
      expect(await ada.questions()).toEqual([]);
      expect((await ada.answer(question, 'approve')).status).toBe(404);
      expect((await office.call()).error.data.reason).toBe('approval_needed');
    },
  );

  it(
    'a person with a token instead of a password does not, unless the config says so',
    verifies('gateway:approval:other'),
    async () => {
      for (const tokens of [false, true]) {
        const office = await Office.open({
          console: { approve: { who: { principals: ['ada'] }, tokens } },
        });
        await office.call();
        const ada = await office.signIn('ada');
        const [question] = await ada.questions();
        const { access } = await office.setting.tokens({ resource: `${office.setting.origin}/mcp` });
        // A program sends its token as a header, however good the token is.
        expect((await answerWith(office, access, question)).status).toBe(403);
        const pasted = await pastedSession(office, access);
        expect((await answerWith(office, undefined, question, pasted)).status).toBe(tokens ? 200 : 403);
      }
    },
  );

  it('answers what was shown: another preview is refused', verifies('gateway:approval:preview'), async () => {
    const office = await Office.open();
    await office.call({ path: '/a', token: 'hush', note: 'left\u202eright' });
    const bob = await office.signIn('bob');
    const [question] = await bob.questions();
    expect(question.preview.text).toContain('"token": "***"');
    expect(question.preview.text).toContain('left\\u202eright');
    expect((await bob.answer(question, 'approve', { preview: 'other' })).status).toBe(409);
    expect((await bob.answer(question, 'approve')).status).toBe(200);
  });

  it('sends no metadata that was not shown', verifies('gateway:approval:preview'), async () => {
    const office = await Office.open();
    const call = (at: number) => office.call({}, {}, {}, { 'vendor.example/call': at, traceparent: trace });
    // Clients give each call another id in its metadata: it is the same call.
    expect((await call(1)).error.data.reason).toBe('approval_needed');
    await (await office.signIn('bob')).answerOnly('approve');
    expect((await call(2)).result.content[0].text).toBe('deleted');
    const [sent] = office.backend.of('tools/call');
    expect(sent?.message.params._meta).not.toHaveProperty('vendor.example/call');
    expect(sent?.message.params._meta).toMatchObject({ traceparent: trace });
  });

  it('shows a parameter that stands beside the arguments', verifies('gateway:approval:preview'), async () => {
    const office = await Office.open();
    await office.call({}, { force: true });
    const [question] = await (await office.signIn('bob')).questions();
    expect(question.preview.text).toContain('Further parameters: {\n  "force": true\n}');
  });

  it('can only deny what cannot be shown completely', verifies('gateway:approval:preview'), async () => {
    const office = await Office.open();
    await office.call({ text: 'long '.repeat(4_000) });
    const bob = await office.signIn('bob');
    const [question] = await bob.questions();
    expect(question).toMatchObject({ preview: { isComplete: false }, whyNot: expect.stringContaining('completely') });
    expect((await bob.answer(question, 'approve')).status).toBe(403);
    expect((await bob.answer(question, 'deny')).status).toBe(200);
  });

  it('of two people who answer at once, one is heard', verifies('gateway:approval:once'), async () => {
    const office = await Office.open();
    await office.call();
    const [bob, carl] = [await office.signIn('bob'), await office.signIn('carl')];
    const [question] = await bob.questions();
    const answers = await Promise.all([bob.answer(question, 'approve'), carl.answer(question, 'deny')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
  });

  it('must come from a page of the console', verifies('gateway:approval:other'), async () => {
    const office = await Office.open();
    await office.call();
    const bob = await office.signIn('bob');
    const [question] = await bob.questions();
    const pasted = await pastedSession(office, office.key);
    const foreign = await send(`${office.setting.origin}/console/api/approvals/answer`, {
      headers: { cookie: pasted, origin: 'https://evil.example' },
      body: { id: question.id, answer: 'deny', preview: question.preview.hash },
    });
    expect(foreign.status).toBe(403);
  });
});

describe('by: caller, of a client that cannot be asked', () => {
  it('is approved on the page by the caller, and by no one else', verifies('gateway:approval:page'), async () => {
    const office = await Office.open({ terms: { by: 'caller' } });
    const { error } = await office.call();
    expect(error.data.url).toContain('/console#/approvals/');
    const bob = await office.signIn('bob');
    const [question] = await bob.questions();
    expect((await bob.answer(question, 'approve')).status).toBe(403);
    expect((await answerWith(office, office.key, question)).status).toBe(200);
    expect((await office.call()).result.content[0].text).toBe('deleted');
  });
});

async function answerWith(
  office: Office,
  secret: string | undefined,
  { id, preview }: { id: string; preview: { hash: string } },
  cookie?: string,
) {
  const { origin } = office.setting;
  const response = await send(`${origin}/console/api/approvals/answer`, {
    headers: { origin, ...(secret && { authorization: `Bearer ${secret}` }), ...(cookie && { cookie }) },
    body: { id, answer: 'approve', preview: preview.hash },
  });
  return { status: response.status, body: response.json() };
}

/** The cookie of somebody who pasted a key or a token at the console. */
async function pastedSession(office: Office, secret: string): Promise<string> {
  const { origin } = office.setting;
  const entered = await send(`${origin}/console/sign-in`, {
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ key: secret }).toString(),
  });
  const [cookie = ''] = [entered.headers['set-cookie'] ?? ''].flat();
  return cookie.split(';', 1)[0] ?? '';
}
