/** The settings of traces, from the file and from the variables of OpenTelemetry. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/config/problems.ts';
import { readTraces } from '../../src/config/traces.ts';
import type { TraceSettings } from '../../src/observe/traces/settings.ts';

type File = Parameters<typeof readTraces>[0];

function reading(file: File, env: Readonly<Record<string, string>>) {
  const problems: Problem[] = [];
  const notices: string[] = [];
  return { settings: readTraces(file, env, { problems, notices }), problems, notices };
}

const usual: TraceSettings = {
  url: 'http://localhost:4318/v1/traces',
  headers: {},
  sampler: { parentBased: true, ratio: 1 },
  resource: { 'service.name': 'bascule', 'service.version': expect.any(String) as string },
  propagates: true,
  baggage: [],
  batches: { queue: 2_048, batch: 512, delayMs: 5_000, timeoutMs: 30_000 },
};

interface Row {
  readonly name: string;
  readonly file?: File;
  readonly env?: Readonly<Record<string, string>>;
  /** Undefined: traces are off. */
  readonly settings: Partial<TraceSettings> | undefined;
  readonly notice?: RegExp;
}

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/base/' };
const url = 'http://c:4318/base/v1/traces';

const rows: readonly Row[] = [
  { name: 'nothing is off', settings: undefined },
  { name: 'an empty section is on, with the usual values', file: {}, settings: {} },
  { name: 'an endpoint is a base', env: endpoint, settings: { url } },
  {
    name: 'an endpoint for traces is taken as it is',
    env: { ...endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://d/x' },
    settings: { url: 'http://d/x' },
  },
  { name: 'empty variables are unset', env: { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, settings: undefined },
  { name: 'the exporter otlp is on', env: { OTEL_TRACES_EXPORTER: 'otlp' }, settings: {} },
  { name: 'the exporter none is off', file: {}, env: { OTEL_TRACES_EXPORTER: 'none' }, settings: undefined },
  {
    name: 'an exporter that we do not have is off, with a notice',
    env: { ...endpoint, OTEL_TRACES_EXPORTER: 'zipkin' },
    settings: undefined,
    notice: /OTEL_TRACES_EXPORTER is zipkin/,
  },
  { name: 'false in the file is off', file: false, env: endpoint, settings: undefined },
  {
    name: 'OTEL_SDK_DISABLED is off',
    file: {},
    env: { OTEL_SDK_DISABLED: 'True' },
    settings: undefined,
    notice: /OTEL_SDK_DISABLED is true/,
  },
  {
    name: 'another value of OTEL_SDK_DISABLED is ignored',
    file: {},
    env: { OTEL_SDK_DISABLED: '1' },
    settings: {},
    notice: /neither true nor false/,
  },
  {
    name: 'the file wins over the variables, key by key',
    file: { url: 'http://f/', sample: 0.5, service: 'file' },
    env: { ...endpoint, OTEL_TRACES_SAMPLER: 'always_off', OTEL_SERVICE_NAME: 'env', OTEL_BSP_MAX_QUEUE_SIZE: '9' },
    settings: {
      url: 'http://f/',
      sampler: { parentBased: true, ratio: 0.5 },
      resource: { ...usual.resource, 'service.name': 'file' },
      batches: { ...usual.batches, queue: 9 },
    },
  },
  {
    name: 'a sampler with its argument',
    file: {},
    env: { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
    settings: { sampler: { parentBased: false, ratio: 0.25 } },
  },
  {
    name: 'an unknown sampler is the usual one, with a notice',
    file: {},
    env: { OTEL_TRACES_SAMPLER: 'jaeger_remote' },
    settings: {},
    notice: /OTEL_TRACES_SAMPLER is jaeger_remote/,
  },
  {
    name: 'a wrong argument is 1, with a notice',
    file: {},
    env: { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
    settings: { sampler: { parentBased: false, ratio: 1 } },
    notice: /OTEL_TRACES_SAMPLER_ARG/,
  },
  {
    name: 'attributes of the resource are decoded, and the name of the service wins over them',
    file: {},
    env: { OTEL_RESOURCE_ATTRIBUTES: 'team=a%20b,service.name=x', OTEL_SERVICE_NAME: 'y' },
    settings: { resource: { ...usual.resource, team: 'a b', 'service.name': 'y' } },
  },
  {
    name: 'a malformed attribute of the resource drops all of them, with a notice',
    file: {},
    env: { OTEL_RESOURCE_ATTRIBUTES: 'team=a,b' },
    settings: {},
    notice: /OTEL_RESOURCE_ATTRIBUTES/,
  },
  { name: 'no propagators', file: {}, env: { OTEL_PROPAGATORS: 'none' }, settings: { propagates: false } },
  {
    name: 'an unknown propagator is ignored, with a notice',
    file: { baggage: ['tenant'] },
    env: { OTEL_PROPAGATORS: 'b3,tracecontext' },
    settings: {},
    notice: /b3/,
  },
  {
    name: 'a wrong number of the queue is the usual one, with a notice',
    file: {},
    env: { OTEL_BSP_MAX_QUEUE_SIZE: 'many' },
    settings: {},
    notice: /OTEL_BSP_MAX_QUEUE_SIZE/,
  },
];

describe('the settings of traces', () => {
  it.each(rows)('$name', ({ file, env = {}, settings, notice }) => {
    const read = reading(file, env);
    expect(read.settings).toEqual(settings && { ...usual, ...settings });
    expect(read.problems).toEqual([]);
    expect(read.notices).toEqual(notice === undefined ? [] : [expect.stringMatching(notice)]);
  });

  const wrong = [
    { name: 'OTEL_EXPORTER_OTLP_PROTOCOL', value: 'grpc' },
    { name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', value: 'http/json' },
    { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'collector:4317' },
  ];
  it.each(wrong)('$name=$value is refused by its name', ({ name, value }) => {
    const { problems } = reading({}, { [name]: value });
    expect(problems).toMatchObject([{ file: 'environment', message: expect.stringContaining(name) as string }]);
  });

  it('a protocol does not matter where traces are off', () => {
    expect(reading(undefined, { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }).problems).toEqual([]);
  });
});
