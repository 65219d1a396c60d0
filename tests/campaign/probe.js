// Loaded into the gateway of the campaign: tells, on SIGWINCH, what it holds after a collection. Needs --expose-gc.
import { writeFileSync } from 'node:fs';

process.on('SIGWINCH', () => {
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  const held = { heapUsed, external, resources: process.getActiveResourcesInfo().length };
  writeFileSync(process.env.CAMPAIGN_PROBE, JSON.stringify(held));
});
