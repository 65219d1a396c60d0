/** A collector of traces: takes OTLP over HTTP as protobuf, and keeps the spans. Closed when the test is over. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { until } from './client.ts';
import { ProtoFields } from './protobuf.ts';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentId: string;
  readonly state: string;
  readonly name: string;
  readonly kind: 'server' | 'client' | 'other';
  /** In nanoseconds. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code: number; readonly message: string };
  readonly service: unknown;
  readonly schemaUrl: string;
}

export interface Collector {
  /** For `traces.url`. */
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** The only span with that name and kind. */
  only(name: string, kind?: CollectedSpan['kind']): CollectedSpan;
  /** Waits until so many requests have arrived. */
  requests(count: number): Promise<void>;
}

/** `hangs`: takes requests, and never answers. */
export async function collector(hangs = false): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      headers.push(request.headers);
      const body = Buffer.concat(chunks);
      spans.push(...spansIn(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
      if (!hangs) response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    headers,
    only: (name, kind) => {
      const [span, ...others] = spans.filter((one) => one.name === name && (kind === undefined || one.kind === kind));
      if (span === undefined || others.length > 0) {
        const known = spans.map((one) => `${one.kind} ${one.name}`).join(', ');
        throw new Error(`${span === undefined ? 'no' : 'more than one'} ${kind ?? ''} span ${name} among: ${known}`);
      }
      return span;
    },
    requests: (count) => until(() => headers.length >= count, `${count} requests at the collector`),
  };
}

/** https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto */
function spansIn(body: Buffer): readonly CollectedSpan[] {
  return new ProtoFields(body).messages(1).flatMap((resourceSpans) => {
    const [resource] = resourceSpans.messages(1);
    const service = resource && attributesIn(resource, 1)['service.name'];
    return resourceSpans
      .messages(2)
      .flatMap((scope) => scope.messages(2).map((span) => ({ ...spanIn(span), service, schemaUrl: scope.text(3) })));
  });
}

const kinds: Readonly<Record<number, CollectedSpan['kind']>> = { 2: 'server', 3: 'client' };

function spanIn(span: ProtoFields): Omit<CollectedSpan, 'service' | 'schemaUrl'> {
  const [status] = span.messages(15);
  return {
    traceId: span.hex(1),
    spanId: span.hex(2),
    state: span.text(3),
    parentId: span.hex(4),
    name: span.text(5),
    kind: kinds[span.number(6)] ?? 'other',
    start: span.number(7),
    end: span.number(8),
    attributes: attributesIn(span, 9),
    links: span.messages(13).map((link) => ({ traceId: link.hex(1), spanId: link.hex(2) })),
    status: { code: status?.number(3) ?? 0, message: status?.text(2) ?? '' },
  };
}

function attributesIn(message: ProtoFields, field: number): Record<string, unknown> {
  return Object.fromEntries(message.messages(field).map((pair) => [pair.text(1), pair.messages(2).map(valueIn)[0]]));
}

function valueIn(value: ProtoFields): unknown {
  if (value.has(5)) return value.messages(5)[0]?.messages(1).map(valueIn);
  if (value.has(3)) return value.number(3);
  return value.has(2) ? value.number(2) === 1 : value.text(1);
}
