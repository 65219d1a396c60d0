// Loaded before the gateway that `npm run count` looks at. SIGUSR2 begins to count, the next one writes what was
// counted.
import { writeFileSync } from 'node:fs';
import { post } from './inspector.js';

let isCounting = false;
let heapBefore = 0;

process.on('SIGUSR2', () => {
  if (!isCounting) {
    globalThis.gc();
    post('Profiler.enable');
    // Functions alone: blocks would be counted at a price that changes what is measured.
    if (process.env.COUNT_FUNCTIONS) post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    heapBefore = process.memoryUsage().heapUsed;
  } else {
    const allocated = process.memoryUsage().heapUsed - heapBefore;
    const { result } = process.env.COUNT_FUNCTIONS ? post('Profiler.takePreciseCoverage') : { result: [] };
    const scripts = result
      .filter(({ url }) => url.startsWith('file:'))
      .map(({ url, functions }) => ({
        url,
        functions: functions
          .filter(({ ranges: [{ count }] }) => count > 0)
          .map(({ functionName, ranges: [{ startOffset, count }] }) => ({ functionName, startOffset, count })),
      }));
    writeFileSync(process.env.COUNT_FILE, JSON.stringify({ allocated, scripts }));
  }
  isCounting = !isCounting;
});
