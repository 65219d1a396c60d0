/**
 * What it costs to observe: a gateway whose metrics are scraped, one that also logs every request, and one that does
 * neither. `npm run count:recording` measures recording alone.
 */
import { freePort } from '../free-port.ts';
import { missing, overHttpWith } from './bascule.ts';
import type { Contestant, Running, StartOptions } from './contestant.ts';

/** Fifteen times as often as Prometheus does by default. */
const SCRAPE_MS = 1_000;

async function scraped(settings: object, options: StartOptions): Promise<Running> {
  const listen = `127.0.0.1:${await freePort()}`;
  const running = await overHttpWith({ metrics: { listen }, ...settings }, options);
  const scrape = async () => {
    const response = await fetch(`http://${listen}/metrics`, { headers: { accept: 'application/openmetrics-text' } });
    await response.text();
  };
  const timer = setInterval(() => void scrape().catch(() => undefined), SCRAPE_MS);
  return {
    ...running,
    stop: async () => {
      clearInterval(timer);
      await running.stop();
    },
  };
}

const common = { group: 'observe', missing } as const;

export const notObserved: Contestant = {
  ...common,
  name: 'not scraped',
  isFloor: true,
  start: (options) => overHttpWith({}, options),
};
export const withMetrics: Contestant = {
  ...common,
  name: 'metrics scraped',
  start: (options) => scraped({}, options),
};
export const withRequestLog: Contestant = {
  ...common,
  name: 'request log',
  start: (options) => overHttpWith({ log: { requests: true } }, options),
};
