/**
 * Services that know nothing of this gateway: a receiver of ToolHive's webhooks, and a decision point with the users,
 * roles and answers of the AuthZEN working group's todo scenario.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { bearer, tokenIssuer } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { json, type Serve } from '../json-rpc/setup.ts';
import { call, openHouse, paths } from '../policy/setup.ts';
import { asked, decisionPoint, openDecided, pointConfig } from './setup.ts';

const SECRET = 'the-secret-of-the-receiver';
const FRESH_S = 300;

/** A receiver by ToolHive's contract: signature over time and body, five minutes, uid and version echoed. */
const receiver: Serve = ({ headers, text, response }) => {
  const timestamp = String(headers['x-toolhive-timestamp']);
  const expected = `sha256=${createHmac('sha256', SECRET).update(`${timestamp}.${text}`).digest('hex')}`;
  const given = String(headers['x-toolhive-signature']);
  const isSigned = given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected));
  const isFresh = Math.abs(Date.now() / 1_000 - Number(timestamp)) < FRESH_S;
  if (!isSigned || !isFresh) {
    json(response, { error: 'unsigned' }, 401);
    return;
  }
  const { version, uid, principal, mcp_request: message, context } = JSON.parse(text);
  const isComplete =
    [version, uid, context.server_name, context.transport].every((one) => typeof one === 'string' && one !== '') &&
    principal !== null &&
    message.jsonrpc === '2.0';
  const allowed = isComplete && message.method === 'tools/call' && message.params.name !== 'delete_file';
  if (message.params.name === 'list_files') json(response, { message: 'refused' }, 422);
  else json(response, { version, uid, allowed, ...(!allowed && { code: 403, message: 'no', reason: 'Policy' }) });
};

describe('a webhook receiver of ToolHive', () => {
  it('works unchanged', verifies('gateway:policy:decision-points'), async () => {
    const house = await openDecided('webhook', receiver, { point: { secret: SECRET } });
    const ask = async (name: string) =>
      (await send(`${house.gateway.origin}${paths.single}`, modern(call(name, { path: '/x' })))).json();
    expect((await ask('read_file')).result.content[0].text).toBe('read_file');
    expect((await ask('delete_file')).error.data).toMatchObject({ reason: 'policy_denied', decisionPoint: 'pdp' });
    expect((await ask('list_files')).error.data).toMatchObject({ reason: 'policy_denied', decisionPoint: 'pdp' });
  });

  it('refuses another secret, and that is a fault', verifies('gateway:policy:decision-faults'), async () => {
    const house = await openDecided('webhook', receiver, { point: { secret: 'another-secret-than-that' } });
    const { error } = (await send(`${house.gateway.origin}${paths.single}`, modern(call('read_file')))).json();
    expect(error.data.reason).toBe('decision_unavailable');
  });
});

/** https://authzen-interop.net/docs/scenarios/todo-1.1/ */
const roles: Readonly<Record<string, readonly string[]>> = {
  rick: ['admin', 'evil_genius'],
  morty: ['editor'],
  summer: ['editor'],
  beth: ['viewer'],
  jerry: ['viewer'],
};

function mayDo(user: string, tool: string, owner: unknown): boolean {
  const has = (role: string) => roles[user]?.includes(role) === true;
  if (tool === 'can_read_todos') return roles[user] !== undefined;
  if (tool === 'can_create_todo') return has('admin') || has('editor');
  if (tool === 'can_update_todo') return has('evil_genius') || (has('editor') && owner === user);
  return tool === 'can_delete_todo' && (has('admin') || (has('editor') && owner === user));
}

/** Only the shapes of AuthZEN 1.0 are answered. */
const todo: Serve = (visit) => {
  const { subject, action, resource, evaluations, context, options } = asked(visit);
  const decide = ({ type, id, properties }: Json) =>
    type === 'tool' && action.name === 'tools/call' && mayDo(subject.id, id, properties?.arguments?.ownerID);
  visit.response.setHeader('x-request-id', String(visit.headers['x-request-id']));
  const isValid = subject?.type === 'identity' && typeof subject.id === 'string' && typeof context === 'object';
  if (!isValid) json(visit.response, 'a subject is missing', 400);
  else if (evaluations === undefined)
    json(visit.response, { decision: decide(resource), context: { note: 'ignored' } });
  else if (options.evaluations_semantic !== 'execute_all') json(visit.response, 'unknown semantic', 400);
  else json(visit.response, { evaluations: evaluations.map((one: Json) => ({ decision: decide(one.resource) })) });
};

const todoTools = ['can_read_todos', 'can_create_todo', 'can_update_todo', 'can_delete_todo'];

describe('the todo scenario of AuthZEN', () => {
  const cases = Object.keys(roles).flatMap((user) =>
    todoTools.flatMap((tool) => [user, 'rick'].map((owner) => ({ user, tool, owner }))),
  );

  it(
    'is decided as it says, for every user, action and owner',
    verifies('gateway:policy:decision-points'),
    async () => {
      const issuer = await tokenIssuer();
      const point = await decisionPoint(todo);
      const identity = { issuers: [{ issuer: issuer.url }], audiences: ['https://house.example'] };
      const decisions = [pointConfig('authzen', point, { arguments: true })];
      const house = await openHouse({ more: { policy: { decisions }, identity } });
      const url = `${house.gateway.origin}${paths.single}`;
      const as = async (user: string, request: ReturnType<typeof modern>) =>
        (
          await send(url, {
            ...request,
            headers: { ...request.headers, ...bearer(await issuer.token('https://house.example', { sub: user })) },
          })
        ).json();
      for (const { user, tool, owner } of cases) {
        const answer = await as(user, modern(call(tool, { ownerID: owner })));
        const expected = mayDo(user, tool, owner) ? undefined : 'policy_denied';
        expect({ user, tool, owner, reason: answer.error?.data.reason }).toEqual({
          user,
          tool,
          owner,
          reason: expected,
        });
      }
    },
  );

  it('a list has what a user may do to nobody’s todos', verifies('gateway:policy:decision-lists'), async () => {
    const issuer = await tokenIssuer();
    const point = await decisionPoint(todo);
    const identity = { issuers: [{ issuer: issuer.url }], audiences: ['https://house.example'] };
    const tools = todoTools.map((name) => ({ name, inputSchema: { type: 'object' } }));
    const house = await openHouse({
      script: {
        'tools/list': (turn) => turn.result({ resultType: 'complete', tools, ttlMs: 0, cacheScope: 'public' }),
      },
      more: { policy: { decisions: [pointConfig('authzen', point)] }, identity },
    });
    const see = async (sub: string) => {
      const request = modern({ method: 'tools/list' });
      const headers = { ...request.headers, ...bearer(await issuer.token('https://house.example', { sub })) };
      const { result } = (await send(`${house.gateway.origin}${paths.single}`, { ...request, headers })).json();
      return result.tools.map(({ name }: { name: string }) => name);
    };
    expect(await see('rick')).toEqual(todoTools);
    expect(await see('morty')).toEqual(['can_read_todos', 'can_create_todo']);
    expect(await see('beth')).toEqual(['can_read_todos']);
  });
});
