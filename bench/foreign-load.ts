/** How many cores others use meanwhile: what the machine has used, less what the bench and its processes have. */
import { performance } from 'node:perf_hooks';
import { machineCpuMicros, treeCpuMicros } from './system.ts';

/** Of one core. Beside more than this no verdict is given: medians bear it, but a few per cent do not show any more. */
export const MOST_FOREIGN = 0.15;

export class ForeignLoad {
  readonly #machine = machineCpuMicros();
  readonly #own = treeCpuMicros(process.pid);
  readonly #begin = performance.now();

  cores(): number {
    const micros = machineCpuMicros() - this.#machine - (treeCpuMicros(process.pid) - this.#own);
    return Math.max(0, micros / 1000 / (performance.now() - this.#begin));
  }
}
