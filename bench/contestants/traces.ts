/** What traces cost: without them, sampled at 1 %, and all of them. The collector runs in the process of the bench. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { missing, overHttpWith } from './bascule.ts';
import type { Contestant, Running, StartOptions } from './contestant.ts';

/** Takes everything, and keeps nothing. */
async function startCollector(): Promise<{ readonly url: string; stop(): void }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function sampled(sample: number, options: StartOptions): Promise<Running> {
  const collector = await startCollector();
  const running = await overHttpWith({ traces: { url: collector.url, sample } }, options);
  return {
    at: (target) => running.at(target),
    stop: async () => {
      await running.stop();
      collector.stop();
    },
  };
}

function contestant(name: string, sample: number): Contestant {
  return { name, group: 'traces', missing, start: (options) => sampled(sample, options) };
}

export const withoutTraces: Contestant = {
  name: 'no traces',
  group: 'traces',
  missing,
  isFloor: true,
  start: (options) => overHttpWith({}, options),
};
export const tracingFew = contestant('traces sampled at 1 %', 0.01);
export const tracingAll = contestant('traces, all sampled', 1);
