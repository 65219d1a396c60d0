/** Reads and checks `metrics`: where Prometheus may read them. */
import * as z from 'zod';
import { isLoopbackHost } from '../oauth/fetch/addresses.ts';
import type { ConfigDocument } from './document.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';
import * as shape from './shapes.ts';

/** Where metrics are served. */
export interface MetricsConfig {
  readonly host: string;
  readonly port: number;
}

/** The port that OpenTelemetry gives to exporters for Prometheus. */
const usual: MetricsConfig = { host: '127.0.0.1', port: 9464 };

const address = shape.addressWithPort('127.0.0.1:9464');

const metricsShape = z.union(
  [
    shape.flag,
    shape.closed('a map with `listen`', {
      listen: address.exactOptional(),
      openToNetwork: shape.flag.exactOptional(),
    }),
  ],
  { error: 'true, false, or a map with `listen`' },
);

/** Undefined where metrics are not served, or the section is invalid and reported. */
export function readMetrics(document: ConfigDocument, variables: Variables): MetricsConfig | undefined {
  const given = document.read(['metrics'], variables);
  if (given === undefined) return undefined;
  const isMap = typeof given === 'object' && given !== null;
  const draft = check(document, ['metrics'], given, isMap ? metricsShape.options[1] : metricsShape);
  if (draft === undefined || draft === false) return undefined;
  const { listen = usual, openToNetwork = false } = draft === true ? {} : draft;
  if (openToNetwork || isLoopbackHost(listen.host)) return listen;
  document.report(['metrics', 'listen'], {
    message: 'this address can be reached from the network, and metrics require no authentication',
    expected: '127.0.0.1, ::1 or localhost; or `openToNetwork: true` beside it to allow it',
  });
  return undefined;
}
