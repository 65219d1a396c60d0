/** Waits for a limited time. The work itself continues after that. */
import type { Clock } from './clock.ts';

/** The result of `work`; after `ms`, what `otherwise` returns or throws. */
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
    // Not `finally`, which makes two promises more.
    work.then(
      (result) => {
        stopWaiting();
        resolve(result);
      },
      (error: unknown) => {
        stopWaiting();
        reject(error);
      },
    );
  });
}
