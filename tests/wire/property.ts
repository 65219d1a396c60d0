import fc from 'fast-check';

/** One seed for all, so that a failure can be had again; fast-check prints it with the failure. */
const seed = Number(process.env.BASCULE_SEED ?? 20260728);

export function holds<T>(property: fc.IProperty<T>, numRuns = 400): void {
  fc.assert(property, { seed, numRuns });
}

/** The same bytes in pieces, cut at the given places. */
export function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...new Set(places.map((place) => place % (bytes.byteLength + 1))), bytes.byteLength].sort(
    (a, b) => a - b,
  );
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (const end of ends) {
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}

/** Text that has everything in it which is awkward on a wire. */
export const awkwardText = fc.string({
  unit: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'c', '0', '1', ' ', '/', '_') },
    {
      weight: 2,
      arbitrary: fc.constantFrom('"', '\\', '\n', '\r', '\t', '\0', '\u007f', '{', '}', '[', ']', ',', ':'),
    },
    { weight: 1, arbitrary: fc.constantFrom('é', 'ß', '世', '界', '\u2028', '\ufeff', '\ufffd', '😀', '𝄞') },
  ),
  maxLength: 80,
});

export const awkwardJson: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.maxSafeInteger(),
    awkwardText,
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(awkwardText, tie('value'), { maxKeys: 24 }),
  ),
})).value;

/** One spelling of a value out of many: white space between tokens, escapes that need not be there. */
export const spelling = fc.record({ indent: fc.constantFrom(0, 1, 3, '\t'), escapes: fc.boolean() });

export function spell(value: unknown, { indent, escapes }: { indent: number | string; escapes: boolean }): string {
  const text = JSON.stringify(value, undefined, indent);
  // Every letter a and every character beyond ASCII as an escape; both occur inside of strings alone but for `false`
  // and `null`, which have no such neighbour.
  return escapes
    ? text.replace(/(?<!f)a|[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : text;
}
