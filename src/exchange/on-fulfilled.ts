/**
 * Calls `action` with what a promise brings. For what only follows from work: a rejection is ignored here, because it
 * is reported where the work was begun.
 */
export function onFulfilled<T>(promise: Promise<T>, action: (value: T) => void): void {
  promise.then(action, () => undefined);
}
