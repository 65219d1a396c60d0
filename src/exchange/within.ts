/** Waiting, but not longer than that. The work goes on when nobody waits for it any more. */
import type { Clock } from './clock.ts';

/** What `work` gives; after so long, what `otherwise` gives or throws. */
export function within<T, Late>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: Promise<T>,
  otherwise: () => Late,
): Promise<T | Late> {
  return new Promise((resolve, reject) => {
    const stopWaiting = clock.after(ms, () => {
      try {
        resolve(otherwise());
      } catch (error) {
        reject(error);
      }
    });
    work.then(resolve, reject).finally(stopWaiting);
  });
}
