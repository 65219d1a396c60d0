// Loaded before the gateway that `npm run profile` looks at. SIGUSR2 begins to sample, the next one writes what was
// sampled: where the time went, or which functions allocated what was allocated.
import { writeFileSync } from 'node:fs';
import { post } from './inspector.js';

const SAMPLE_MICROS = 200;
const SAMPLE_BYTES = 4096;
const isHeap = process.env.PROFILE_HEAP === '1';
let isSampling = false;

function begin() {
  if (isHeap) {
    const garbageToo = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    post('HeapProfiler.startSampling', { samplingInterval: SAMPLE_BYTES, ...garbageToo });
    return;
  }
  post('Profiler.enable');
  post('Profiler.setSamplingInterval', { interval: SAMPLE_MICROS });
  post('Profiler.start');
}

process.on('SIGUSR2', () => {
  if (isSampling) {
    const { profile } = post(isHeap ? 'HeapProfiler.stopSampling' : 'Profiler.stop');
    writeFileSync(process.env.PROFILE_FILE, JSON.stringify(profile));
  } else begin();
  isSampling = !isSampling;
});
