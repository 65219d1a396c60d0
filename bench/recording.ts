/**
 * `npm run count:recording`: what recording one call costs in a loop of its own: bytes, which are a gate, and time,
 * which is printed. A call is recorded on both sides: the client's message and the request to the backend.
 */
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import type { BackendConfig } from '../src/config/config.ts';
import type { ObservedCall } from '../src/exchange/observer.ts';
import { Recorder } from '../src/observe/metrics/recorder.ts';
import type { RequestContext } from '../src/pipeline/context.ts';
import type { Request, ResultResponse } from '../src/wire/message.ts';
import { type MethodRow, methodRow } from '../src/wire/methods.ts';
import { readMessage } from '../src/wire/scan.ts';
import { skimMessage } from '../src/wire/skim.ts';

const WARM = 300_000;
const CALLS = 200_000;
/** V8 compiles beside the loop, and a busy machine makes it late: the cheapest batch is what the code costs. */
const BATCHES = 8;
/** Less than one byte a call is what the measurement itself allocates. */
const MOST_BYTES = 0;
const MOST_US = 2;
/** A young generation in which nothing has to be collected while it is counted. */
const flags = ['--expose-gc', '--max-semi-space-size=256', '--min-semi-space-size=256'];

const bytesOf = (value: object) => Buffer.from(JSON.stringify(value));
const row = methodRow('tools/call') as MethodRow;
const list = methodRow('tools/list') as MethodRow;
const client = { revision: '2026-07-28' } as const;

function responseOf(result: object): ResultResponse {
  return skimMessage(bytesOf({ jsonrpc: '2.0', id: 1, result })) as ResultResponse;
}

function loop(): (calls: number) => void {
  // A variable would be a new object for each value.
  const time = new Float64Array([0.5]);
  const recorder = new Recorder({ now: () => time[0] as number });
  const observer = recorder.calls({ name: 'b', kind: 'http' } as BackendConfig);
  const params = { name: 'work', arguments: { n: 1 } };
  const message = readMessage(bytesOf({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }), {
    depth: 64,
  }) as Request;
  const from = responseOf({ content: [] });
  const context = {
    ...{
      endpoint: { path: '/mcp' },
      era: 'modern',
      message,
      row,
      client,
      startedAt: 0,
      upstreamMs: 0,
      upstreamCalls: 0,
    },
    ...{ session: undefined, connection: undefined, target: undefined },
  } as unknown as RequestContext;
  const call = {
    request: { row, message, client, origin: context },
    startedAt: 0,
    revision: '2025-11-25',
  } as unknown as ObservedCall;
  const outcome = { kind: 'result', message: from, vocabulary: 'legacy' } as const;
  const ending = { outcome: 'result', from } as const;
  const listed = { ...call, request: { ...call.request, row: list } } as ObservedCall;
  const tools = responseOf({ tools: [{ name: 'work' }] });
  observer.ended(listed, { ...outcome, message: tools });
  return (calls) => {
    for (let n = 0; n < calls; n++) {
      time[0] = 0.5 + (n & 15);
      context.upstreamMs = 0;
      context.upstreamCalls = 0;
      recorder.began(context);
      observer.began(call);
      observer.ended(call, outcome);
      recorder.ended(context, ending);
    }
  };
}

function batch(run: (calls: number) => void): { bytes: number; us: number } {
  gc?.();
  const heap = getHeapStatistics().used_heap_size;
  const began = performance.now();
  run(CALLS);
  const us = ((performance.now() - began) / CALLS) * 1_000;
  return { us, bytes: Math.floor((getHeapStatistics().used_heap_size - heap) / CALLS) };
}

function measure(): void {
  const run = loop();
  run(WARM);
  const batches = Array.from({ length: BATCHES }, () => batch(run));
  const bytes = Math.min(...batches.map((one) => one.bytes));
  const us = Math.min(...batches.map((one) => one.us));
  console.log(`recording a call  ${bytes} bytes, at most ${MOST_BYTES}  ${bytes > MOST_BYTES ? 'OVER' : 'ok'}`);
  console.log(`recording a call  ${us.toFixed(3)} us, wanted at most ${MOST_US}`);
  if (bytes > MOST_BYTES) process.exitCode = 1;
}

if (typeof gc === 'function') measure();
else {
  const args = [...flags, '--import', import.meta.resolve('tsx'), fileURLToPath(import.meta.url)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
}
