/** Without traces, and for backends that get no trace context: nothing is loaded, and no byte changes. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { collector } from '../harness/collector.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { legacyBackend, modernBackend } from '../harness/http-backend.ts';
import { configFile, serve } from '../harness/program.ts';
import { caller, startTraced, traceparent } from './setup.ts';

const context = { traceparent: traceparent(caller), tracestate: 'a=1', baggage: 'tenant=blue' };
const done = { resultType: 'complete', content: [] };

/** Says at the end whether OpenTelemetry was at work: it registers itself in the global object of the process. */
const loads = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from 'node:fs';
  process.on('exit', () => {
    const isThere = Object.getOwnPropertySymbols(globalThis).some((symbol) => String(symbol).includes('opentelemetry'));
    if (isThere) writeSync(2, 'LOADED OpenTelemetry');
  });
`)}`;

describe('OpenTelemetry', verifies('gateway:traces:off'), () => {
  const rows = [
    { name: 'without settings', env: {}, traces: undefined, isLoaded: false },
    { name: 'with `traces: false`', env: { OTEL_TRACES_EXPORTER: 'otlp' }, traces: false, isLoaded: false },
    { name: 'with OTEL_SDK_DISABLED', env: { OTEL_SDK_DISABLED: 'TRUE' }, traces: {}, isLoaded: false },
    { name: 'with empty variables', env: { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, traces: undefined, isLoaded: false },
    { name: 'with settings', env: {}, traces: {}, isLoaded: true },
  ];
  it.each(rows)('$name: loaded is $isLoaded', async ({ env, traces, isLoaded }) => {
    const collected = await collector();
    const backend = await modernBackend({ 'tools/call': (turn) => turn.result(done) });
    const settings = typeof traces === 'object' ? { url: collected.url, ...traces } : traces;
    const config = { backends: { b: { url: backend.url } }, ...(settings !== undefined && { traces: settings }) };
    const flags = ['--import', loads];
    const { program, url } = await serve([], { ...configFile(config), env, flags });
    await send(url(), modern({ method: 'tools/call', params: { name: 'x' }, meta: context }));
    program.kill('SIGTERM');
    await program.end();
    expect(program.stderr.includes('LOADED OpenTelemetry')).toBe(isLoaded);
    expect(collected.spans.length > 0).toBe(isLoaded);
    const got = await backend.arrival('tools/call');
    const { traceparent: told, tracestate, baggage } = got.message.params._meta;
    if (isLoaded) expect(told).not.toBe(context.traceparent);
    else expect({ traceparent: told, tracestate, baggage }).toEqual(context);
    expect(got.headers.traceparent).toBe(isLoaded ? told : undefined);
  });
});

describe('a backend with `traces: none`', verifies('gateway:traces:propagation'), () => {
  const backends = { legacy: legacyBackend, modern: modernBackend };
  it.each(eras)('of the %s era gets no trace context, and no other byte changes', async (era) => {
    const backend = await backends[era]({ 'tools/call': (turn) => turn.result(done) });
    const { gateway, spans } = await startTraced({ backends: { b: { url: backend.url, traces: 'none' } } });
    const client = await connectLegacy(gateway.url());
    const call = (id: number, meta: string) =>
      client.post(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{ "name" : "x", "n":1.0${meta}}}`);
    await call(1, '');
    await call(2, `,"_meta":${JSON.stringify({ ...context, own: 1 })}`);
    const [plain, withContext] = backend.of('tools/call');
    for (const got of [plain, withContext]) {
      expect(got?.text).not.toMatch(/traceparent|tracestate|baggage/);
      expect(got?.headers).not.toHaveProperty('traceparent');
      expect(got?.text).toContain('"name" : "x", "n":1.0');
    }
    if (era === 'legacy') expect(plain?.text).toContain('"params":{ "name" : "x", "n":1.0}');
    expect(withContext?.message.params._meta.own).toBe(1);
    const sent = (await spans()).spans.filter(({ kind, name }) => kind === 'client' && name === 'tools/call x');
    expect(sent).toHaveLength(2);
  });

  it('a legacy backend that gets trace context keeps every other byte', async () => {
    const backend = await legacyBackend({ 'tools/call': (turn) => turn.result(done) });
    const { gateway } = await startTraced({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(gateway.url());
    const call = (params: string) => client.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    await call('{ "name" : "x", "n":1.0}');
    await call('{"name":"x","_meta":{ "own" : 1.0 ,"traceparent":"x"}, "n":1.0}');
    const [plain, withMeta] = backend.of('tools/call');
    expect(plain?.text).toMatch(/"params":\{ "name" : "x", "n":1\.0,"_meta":\{"traceparent":"00-[^"]+"\}\}\}$/);
    expect(withMeta?.text).toMatch(
      /"params":\{"name":"x","_meta":\{"own" : 1\.0,"traceparent":"00-[^"]+"\}, "n":1\.0\}\}$/,
    );
  });
});
