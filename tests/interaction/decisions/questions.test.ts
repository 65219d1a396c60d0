/** What a question says is what the backend gets: the same target, the same numbers, and no more than that. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { open, send, until } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { ask, json, openShop, type Visit } from '../json-rpc/setup.ts';
import { call, openHouse, paths } from '../policy/setup.ts';
import {
  answerOf,
  asked,
  deciding,
  decisionPoint,
  type Kind,
  kinds,
  nameIn,
  openDecided,
  pointConfig,
} from './setup.ts';

/** A backend with one tool. */
const listing = (name: string) =>
  modernBackend({
    'tools/list': (turn) =>
      turn.result({
        resultType: 'complete',
        tools: [{ name, inputSchema: { type: 'object' } }],
        ...{ ttlMs: 60_000, cacheScope: 'public' },
      }),
  });

const textOf = (visit: Visit | undefined): string => visit?.text ?? '';

describe.each(kinds)('%s', (kind) => {
  it(
    'judges a tool by its listed name, whichever of its names the client uses',
    verifies('gateway:policy:decision-points', 'gateway:policy:no-permit-no-byte'),
    async () => {
      const point = await decisionPoint(deciding(kind, (name) => name !== 'erase'));
      const [a, b] = await Promise.all([listing('erase'), listing('find')]);
      const gateway = await startGateway({
        backends: { a: { url: a.url }, b: { url: b.url } },
        endpoints: [{ path: paths.merged, names: 'collision' }],
        policy: { decisions: [pointConfig(kind, point)] },
      });
      const url = `${gateway.origin}${paths.merged}`;
      for (const name of ['erase', 'a__erase']) {
        const { error } = (await send(url, modern(call(name)))).json();
        expect(error.data).toMatchObject({ reason: 'policy_denied', decisionPoint: 'pdp' });
      }
      expect(a.of('tools/call')).toHaveLength(0);
    },
  );

  it(
    'is asked under both names where it is unknown which of them is listed',
    verifies('gateway:policy:decision-points', 'gateway:policy:no-permit-no-byte'),
    async () => {
      const house = await openDecided(
        kind,
        deciding(kind, (name) => name !== 'hidden'),
        { endpoint: { names: 'collision' } },
      );
      const { error } = (await send(`${house.gateway.origin}${paths.merged}`, modern(call('a__hidden')))).json();
      expect(error.data).toMatchObject({ reason: 'policy_denied', decisionPoint: 'pdp' });
      expect(house.point.visits.map((visit) => nameIn(kind, visit))).toEqual(['a__hidden', 'hidden']);
      expect(house.a.of('tools/call')).toHaveLength(0);
    },
  );

  it(
    'gets numbers as the client spelled them, beside secrets that are hidden at any depth',
    verifies('gateway:policy:decision-points'),
    async () => {
      const point = kind === 'webhook' ? {} : { arguments: true };
      const house = await openDecided(
        kind,
        deciding(kind, () => true),
        { point },
      );
      const given =
        '{"amount":9007199254740993,"rate":1.50,"big":1e400,"a":[{"Api-Key":{"x":1}},{"\\u0074oken":"t"}],"token":"s"}';
      const shown =
        '{"amount":9007199254740993,"rate":1.50,"big":1e400,"a":[{"Api-Key":"***"},{"\\u0074oken":"***"}],"token":"***"}';
      const request = modern(call('read_file', { here: 1 }));
      const body = JSON.stringify(request.body).replace('{"here":1}', given);
      const { result } = (await send(`${house.gateway.origin}${paths.single}`, { ...request, body })).json();
      expect(result.content[0].text).toBe('read_file');
      expect(textOf(house.point.visits[0])).toContain(`"arguments":${shown}`);
    },
  );

  it(
    'knows the groups that our own files give to a key',
    verifies('gateway:policy:decision-points', 'gateway:policy:groups'),
    async () => {
      const ring = keyRing();
      const key = ring.make('ada', { groups: ['interns'] });
      const point = await decisionPoint((visit) => json(visit.response, answerOf(kind, visit, true)));
      const more = {
        policy: { decisions: [pointConfig(kind, point)] },
        identity: { keys: { file: ring.path } },
      };
      const house = await openHouse({ more });
      const request = modern(call('read_file'));
      const headers = { ...request.headers, ...bearer(key) };
      await send(`${house.gateway.origin}${paths.single}`, { ...request, headers });
      expect(point.visits.map((visit) => groupsIn(kind, visit))).toEqual([['interns']]);
    },
  );
});

function groupsIn(kind: Kind, visit: Visit): unknown {
  const question = asked(visit);
  if (kind === 'authzen') return question.subject.properties.groups;
  return kind === 'opa' ? question.input.principal.groups : question.principal.groups;
}

describe('the message for a webhook', () => {
  it(
    'has nothing of what the client answers to a server request',
    verifies('gateway:policy:decision-points'),
    async () => {
      const house = await openDecided(
        'webhook',
        deciding('webhook', () => true),
      );
      const inputResponses = { q: { action: 'accept', content: { password: 'hunter2' } } };
      const params = { ...call('read_file').params, inputResponses };
      const request = modern({ method: 'tools/call', params, capabilities: { elicitation: {} } });
      await send(`${house.gateway.origin}${paths.single}`, request);
      expect(house.point.visits.map(({ text }) => text.includes('read_file'))).toEqual([true]);
      expect(textOf(house.point.visits[0])).not.toContain('hunter2');
    },
  );

  it('names the one resource of a listen that it is about', verifies('gateway:policy:decision-points'), async () => {
    const house = await openDecided('webhook', (visit) => json(visit.response, answerOf('webhook', visit, true)));
    const uris = ['doc://open', 'doc://secret'];
    const params = { notifications: { resourceSubscriptions: uris } };
    const stream = await open(
      `${house.gateway.origin}${paths.single}`,
      modern({ method: 'subscriptions/listen', params }),
    );
    await until(() => house.point.visits.length === 2, 'both resources were asked about');
    const notified = house.point.visits.map((visit) => asked(visit).mcp_request.params.notifications);
    expect(notified).toEqual(uris.map((uri) => ({ resourceSubscriptions: [uri] })));
    stream.close();
  });

  it('of a JSON-RPC service says where it came from', verifies('gateway:policy:decision-points'), async () => {
    const point = await decisionPoint((visit) => json(visit.response, answerOf('webhook', visit, true)));
    const shop = await openShop({ more: { policy: { decisions: [pointConfig('webhook', point)] } } });
    await shop.post(ask('balance', { of: 'me', n: 1.5 }));
    expect(point.visits.map((visit) => asked(visit))).toMatchObject([
      {
        context: { server_name: 'ledger', source_ip: '127.0.0.1', transport: 'streamable-http' },
        mcp_request: { jsonrpc: '2.0', method: 'balance', params: { of: 'me', n: 1.5 } },
      },
    ]);
  });
});
