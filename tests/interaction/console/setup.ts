/** A gateway with a modern, a legacy, an absent and a disabled backend, and two rules; and its operator. */
import type { Call, Json } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend } from '../harness/http-backend.ts';

const listing = (names: readonly string[]) => ({
  resultType: 'complete',
  tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })),
  ttlMs: 60_000,
  cacheScope: 'public',
});

export async function ask(gateway: TestGateway, path: string, query: Record<string, string> = {}): Promise<Json> {
  const answer = await gateway.assembled.operating?.operate({
    method: 'GET',
    path,
    query: new URLSearchParams(query),
    body: undefined,
  });
  return answer?.body;
}

export async function act(gateway: TestGateway, path: string, body: unknown): Promise<{ status: number; body: Json }> {
  const answer = await gateway.assembled.operating?.operate({
    method: 'POST',
    path,
    query: new URLSearchParams(),
    body,
  });
  return answer as { status: number; body: Json };
}

const policy = {
  rules: [
    { id: 'all', effect: 'allow', what: ['call'] },
    { id: 'no-deletes', effect: 'deny', what: ['call'], on: { tools: ['*delete*'] } },
  ],
};

export async function open(more: object = {}): Promise<TestGateway> {
  const files = await modernBackend({
    'tools/list': (turn) => turn.result(listing(['read', 'delete'])),
    'tools/call': (turn) =>
      turn.message.params.name === 'read'
        ? turn.result({ resultType: 'complete', content: [], isError: turn.message.params.arguments.bad === true })
        : turn.error(-32000, 'no'),
  });
  const old = await legacyBackend({ 'tools/list': (turn) => turn.result(listing(['echo'])) });
  const gateway = await startGateway(
    {
      backends: {
        files: { url: files.url },
        old: { url: old.url },
        away: { url: 'http://127.0.0.1:1/mcp' },
        later: { url: 'http://127.0.0.1:2/mcp', disabled: true },
      },
      policy,
      console: {},
      ...more,
    },
    { control: true },
  );
  await Promise.all(['files', 'old'].map((name) => gateway.assembled.backends.get(name)?.discover()));
  await gateway.assembled.backends
    .get('away')
    ?.discover()
    .catch(() => undefined);
  return gateway;
}

export const call = (name: string, args: object = {}): Call =>
  modern({ method: 'tools/call', params: { name, arguments: args } });
