/**
 * Whether two config values are equal. Functions count as equal, because the text that they were made from is compared
 * as well.
 */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return typeof a === 'function' && typeof b === 'function';
  }
  if (a instanceof Set && b instanceof Set) return isSame([...a], [...b]);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [keys, others] = [present(a), present(b)];
  if (keys.length !== others.length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && isSame(memberOf(a, key), memberOf(b, key)));
}

/** A member that is undefined counts as absent. */
function present(value: object): readonly string[] {
  return Object.keys(value).filter((key) => memberOf(value, key) !== undefined);
}

function memberOf(value: object, key: string): unknown {
  return (value as Record<string, unknown>)[key];
}
