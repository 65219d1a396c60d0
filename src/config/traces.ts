/**
 * The settings of traces, from `traces:` and from the variables of OpenTelemetry. One rule: what the file says wins,
 * key by key; what it does not say comes from the variables. An empty variable counts as unset.
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
import * as z from 'zod';
import type { SamplerSettings, TraceSettings } from '../observe/traces/settings.ts';
import { about } from '../wire/about.ts';
import type { Problem } from './problems.ts';
import * as shape from './shapes.ts';
import { readResource } from './traces-resource.ts';

const ratioText = 'a number from 0 to 1';
const ratio = shape.once(() =>
  z
    .union([z.number(), z.string()], { error: ratioText })
    .transform((value) => (value === '' ? Number.NaN : Number(value)))
    .refine((value) => value >= 0 && value <= 1, { error: ratioText }),
);

const settingsShape = shape.once(() =>
  shape.closed('a map of settings, or false', {
    url: shape.httpAddress.exactOptional(),
    headers: shape.headerMap.exactOptional(),
    sample: ratio().exactOptional(),
    service: shape.oneLine.exactOptional(),
    baggage: z.array(shape.text('a key of baggage', shape.headerToken), { error: 'a list of keys' }).exactOptional(),
  }),
);

export const tracesShape = shape.once(() =>
  z.union([z.literal(false), settingsShape()], { error: 'a map of settings, or false' }),
);
type FileSettings = z.infer<ReturnType<typeof settingsShape>>;

/** Where problems and notices about variables go. */
export interface TraceFindings {
  readonly problems: Problem[];
  readonly notices: string[];
}

/** Undefined where traces are not configured. */
export function readTraces(
  file: z.infer<ReturnType<typeof tracesShape>> | undefined,
  env: Readonly<Record<string, string | undefined>>,
  findings: TraceFindings,
): TraceSettings | undefined {
  const read = (name: string) => env[name]?.trim() || undefined;
  const address = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? read('OTEL_EXPORTER_OTLP_ENDPOINT');
  const exporters = read('OTEL_TRACES_EXPORTER')
    ?.split(',')
    .map((name) => name.trim());
  const isWanted = file !== undefined || address !== undefined || exporters?.includes('otlp') === true;
  if (file === false || !isWanted || isDisabled(read('OTEL_SDK_DISABLED'), findings)) return undefined;
  if (exporters !== undefined && !exporters.includes('otlp')) {
    if (exporters.some((name) => name !== 'none'))
      findings.notices.push(
        `OTEL_TRACES_EXPORTER is ${exporters.join(',')}: only otlp is supported, so traces are off`,
      );
    return undefined;
  }
  refuseProtocols(read, findings);
  return settle(file ?? {}, read, findings);
}

type ReadVariable = (name: string) => string | undefined;

function settle(file: FileSettings, read: ReadVariable, findings: TraceFindings): TraceSettings {
  const propagators = (read('OTEL_PROPAGATORS') ?? 'tracecontext,baggage').split(',').map((name) => name.trim());
  for (const name of propagators) {
    if (!['tracecontext', 'baggage', 'none'].includes(name))
      findings.notices.push(`OTEL_PROPAGATORS names ${name}, which is not supported and is ignored`);
  }
  return {
    url: file.url ?? addressIn(read, findings) ?? 'http://localhost:4318/v1/traces',
    headers: file.headers ?? {},
    sampler: file.sample === undefined ? samplerIn(read, findings) : { parentBased: true, ratio: file.sample },
    resource: {
      'service.name': about.name,
      'service.version': about.version,
      ...readResource(read('OTEL_RESOURCE_ATTRIBUTES'), findings.notices),
      ...named(read('OTEL_SERVICE_NAME')),
      ...named(file.service),
    },
    propagates: propagators.includes('tracecontext'),
    baggage: propagators.includes('baggage') ? (file.baggage ?? []) : [],
    batches: {
      queue: numberIn(read, 'OTEL_BSP_MAX_QUEUE_SIZE', 2_048, findings),
      batch: numberIn(read, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512, findings),
      delayMs: numberIn(read, 'OTEL_BSP_SCHEDULE_DELAY', 5_000, findings),
      timeoutMs: numberIn(read, 'OTEL_BSP_EXPORT_TIMEOUT', 30_000, findings),
    },
  };
}

function named(service: string | undefined): Record<string, string> {
  return service === undefined ? {} : { 'service.name': service };
}

/** Only `true` disables. */
function isDisabled(value: string | undefined, { notices }: TraceFindings): boolean {
  const text = value?.toLowerCase();
  if (text === 'true') notices.push('OTEL_SDK_DISABLED is true, so traces are off');
  else if (text !== undefined && text !== 'false')
    notices.push('OTEL_SDK_DISABLED is neither true nor false, and is ignored');
  return text === 'true';
}

/** A protocol that we do not have must not become another one in silence: the collector may not listen for it. */
function refuseProtocols(read: ReadVariable, { problems }: TraceFindings): void {
  const names = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];
  const name = names.find((candidate) => read(candidate) !== undefined);
  if (name === undefined || read(name) === 'http/protobuf') return;
  problems.push(
    inEnvironment(`\`${name}\` is \`${read(name)}\`, which is not supported`, 'http/protobuf, or no value'),
  );
}

/** The common address is a base; the one for traces is taken as it is. */
function addressIn(read: ReadVariable, { problems }: TraceFindings): string | undefined {
  const whole = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const base = read('OTEL_EXPORTER_OTLP_ENDPOINT');
  const url = whole ?? base?.replace(/\/*$/, '/v1/traces');
  if (url === undefined || ['http:', 'https:'].includes(shape.parseUrl(url)?.protocol ?? '')) return url;
  const name = whole === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
  problems.push(inEnvironment(`\`${name}\` has a wrong value`, 'an http:// or https:// address'));
  return undefined;
}

const samplers: Readonly<Record<string, (argument: number) => SamplerSettings>> = {
  always_on: () => ({ parentBased: false, ratio: 1 }),
  always_off: () => ({ parentBased: false, ratio: 0 }),
  traceidratio: (argument) => ({ parentBased: false, ratio: argument }),
  parentbased_always_on: () => ({ parentBased: true, ratio: 1 }),
  parentbased_always_off: () => ({ parentBased: true, ratio: 0 }),
  parentbased_traceidratio: (argument) => ({ parentBased: true, ratio: argument }),
};
const usualSampler = 'parentbased_always_on';

function samplerIn(read: ReadVariable, { notices }: TraceFindings): SamplerSettings {
  const name = read('OTEL_TRACES_SAMPLER') ?? usualSampler;
  const sampler = Object.hasOwn(samplers, name) ? samplers[name] : undefined;
  if (sampler === undefined) {
    notices.push(`OTEL_TRACES_SAMPLER is ${name}, which is not known: ${usualSampler} is used`);
    return { parentBased: true, ratio: 1 };
  }
  const given = read('OTEL_TRACES_SAMPLER_ARG');
  const argument = ratio().safeParse(given ?? 1);
  if (!argument.success) notices.push('OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1: 1 is used');
  return sampler(argument.success ? argument.data : 1);
}

/** Larger than any process needs: a queue of a hundred thousand spans holds some 100 MB. */
const MOST = 100_000;

function numberIn(read: ReadVariable, name: string, usual: number, { notices }: TraceFindings): number {
  const text = read(name);
  if (text === undefined) return usual;
  const value = Number(text);
  if (Number.isInteger(value) && value > 0 && value <= MOST) return value;
  notices.push(`${name} is not a whole number from 1 to ${MOST}: ${usual} is used`);
  return usual;
}

function inEnvironment(message: string, expected: string): Problem {
  return { file: 'environment', line: 0, column: 0, message, expected };
}
