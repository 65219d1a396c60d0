/** A config that comes between the headers of a request and its body: the new one decides everything about it. */
import { request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import type { Json } from '../harness/client.ts';
import { type ConfigValue, startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { ask, error, launchService } from './setup.ts';

interface Begun {
  finish(body: unknown): Promise<{ readonly status: number; readonly body: Json }>;
}

/** Resolves when the gateway has the headers, and waits for the body. */
function begin(url: string): Promise<Begun> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    expect: '100-continue',
  };
  const asking = request(url, { method: 'POST', headers });
  const answered = new Promise<{ status: number; body: Json }>((resolve, reject) => {
    asking.on('error', reject);
    asking.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
  });
  return new Promise((resolve, reject) => {
    asking.on('error', reject);
    asking.on('continue', () =>
      resolve({
        finish: (body) => {
          asking.end(JSON.stringify(body));
          return answered;
        },
      }),
    );
    asking.flushHeaders();
  });
}

async function scene(first: 'ledger' | 'tools') {
  const [ledger, archive, tools] = await Promise.all([launchService(), launchService(), modernBackend()]);
  onTestFinished(async () => void (await Promise.all([ledger.close(), archive.close()])));
  const backends = {
    ledger: { protocol: 'json-rpc', url: ledger.url },
    archive: { protocol: 'json-rpc', url: archive.url },
    tools: { url: tools.url },
  };
  const configOf = (endpoint: object): ConfigValue => ({ backends, endpoints: [{ path: '/at', ...endpoint }] });
  const rpc = (name: string, more: object = {}) => configOf({ protocol: 'json-rpc', backends: [name], ...more });
  const mcp = configOf({ backends: ['tools'] });
  const gateway = await startGateway(first === 'ledger' ? rpc('ledger') : mcp);
  return { ledger, archive, rpc, mcp, gateway, begun: await begin(`${gateway.origin}/at`) };
}

describe('a request whose body arrives after a reload', verifies('gateway:reload:atomic'), () => {
  it('goes to the new service', async () => {
    const { ledger, archive, rpc, gateway, begun } = await scene('ledger');
    gateway.reload(rpc('archive'));
    expect((await begun.finish(ask('m'))).body.result).toBeDefined();
    expect([ledger.bytes, archive.visits.length]).toEqual([0, 1]);
  });

  it('is checked against the new profile', async () => {
    const { ledger, rpc, gateway, begun } = await scene('ledger');
    gateway.reload(rpc('ledger', { profile: { batches: 'deny' } }));
    expect((await begun.finish([ask('m')])).body.error.data.reason).toBe('unsupported_batch');
    expect(ledger.bytes).toBe(0);
  });

  it.each(['gone', 'of MCP'])('gets 404 if the endpoint is %s by then', async (what) => {
    const { ledger, mcp, rpc, gateway, begun } = await scene('ledger');
    const { backends } = rpc('ledger');
    const endpoints = [{ path: '/other', protocol: 'json-rpc', backends: ['ledger'] }];
    gateway.reload(what === 'gone' ? { backends, endpoints } : mcp);
    expect(await begun.finish(ask('m'))).toEqual({ status: 404, body: error(1, -32600, 'path_not_found') });
    expect(ledger.bytes).toBe(0);
  });

  it('gets 404 if it was meant for MCP', async () => {
    const { ledger, rpc, gateway, begun } = await scene('tools');
    gateway.reload(rpc('ledger'));
    const { status, body } = await begun.finish(ask('tools/list'));
    expect([status, body.error.data.reason]).toEqual([404, 'path_not_found']);
    expect(ledger.bytes).toBe(0);
  });
});
