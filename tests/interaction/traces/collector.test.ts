/** Collectors that are gone or do not answer, and the end of the process. */
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send, until } from '../harness/client.ts';
import { collector } from '../harness/collector.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { configFile, serve } from '../harness/program.ts';

const call = modern({ method: 'tools/call', params: { name: 'x' } });

async function backend(): Promise<string> {
  const done = { resultType: 'complete', content: [] };
  return (await modernBackend({ 'tools/call': (turn) => turn.result(done) })).url;
}

/** An address at which nothing listens. */
async function nowhere(): Promise<string> {
  const server = createServer();
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/v1/traces`;
}

describe('a collector', verifies('gateway:traces:collector'), () => {
  it('that is gone costs spans, which are counted, and one log line', async () => {
    const url = await nowhere();
    const gateway = await startGateway({ backends: { b: { url: await backend() } }, traces: { url } });
    for (let at = 0; at < 5; at++) expect((await send(gateway.url(), call)).status).toBe(200);
    await gateway.close();
    // Two for each call, and those of the gateway's own requests.
    expect(gateway.counters.snapshot()['traces.lost']).toBeGreaterThan(10);
    expect(gateway.log.filter(({ level }) => level === 'warn')).toMatchObject([
      { text: 'spans were lost: the collector of traces did not take them' },
    ]);
  });

  it('that never answers holds back no request, and its queue is bounded', async () => {
    const hanging = await collector(true);
    const env = {
      OTEL_BSP_MAX_QUEUE_SIZE: '4',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2',
      OTEL_BSP_SCHEDULE_DELAY: '1',
    };
    const config = { backends: { b: { url: await backend() } }, traces: { url: hanging.url } };
    const { program, url } = await serve([], { ...configFile(config), env });
    for (let at = 0; at < 10; at++) expect((await send(url(), call)).status).toBe(200);
    await hanging.requests(1);
    program.kill('SIGTERM');
    expect(await program.end()).toEqual({ code: 0, signal: null });
    const [, dropped] = /"traces\.dropped":(\d+)/.exec(program.stderr) ?? [];
    // 20 spans of calls, and those of the gateway's own requests: 2 are being sent and 4 wait.
    expect(Number(dropped)).toBeGreaterThan(14);
    expect(program.stderr.match(/spans were dropped/g)).toHaveLength(1);
  });

  it('gets what is waiting when the process is told to stop', async () => {
    const collected = await collector();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collected.url.replace('/v1/traces', ''), OTEL_SERVICE_NAME: 'mine' };
    const { program, url } = await serve([], { ...configFile({ backends: { b: { url: await backend() } } }), env });
    expect((await send(url(), call)).status).toBe(200);
    program.kill('SIGTERM');
    expect(await program.end()).toEqual({ code: 0, signal: null });
    expect(collected.only('tools/call x', 'server').service).toBe('mine');
  });

  it('gets the configured headers, which the log and `config check` do not show', async () => {
    const collected = await collector();
    const headers = { authorization: 'Bearer hunter2' };
    const config = { backends: { b: { url: await backend() } }, traces: { url: collected.url, headers } };
    const { program, url } = await serve(['--log-level', 'debug'], configFile(config));
    expect((await send(url(), call)).status).toBe(200);
    program.kill('SIGTERM');
    await program.end();
    await until(() => collected.headers.length > 0, 'the collector got the spans');
    expect(collected.headers[0]?.authorization).toBe('Bearer hunter2');
    expect(program.stdout + program.stderr).not.toContain('hunter2');
  });
});
