/**
 * Calls `action` with what a promise brings. For what only follows from work: a rejection is ignored here, because it
 * is reported where the work was begun.
 */
export function onFulfilled<T>(promise: Promise<T>, action: (value: T) => void): void {
  promise.then(action, () => undefined);
}

/** Calls `action` at once with a value that is known, and later with one that is waited for. */
export function whenKnown<T, R>(value: T | Promise<T>, action: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(action) : action(value);
}
