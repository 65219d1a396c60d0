/** A chart says nothing about minutes of which nothing is known. */
import { expect, it } from 'vitest';
import { partsOf } from '../../src/console/page/chart-lines.ts';

const at = (minute: number, calls?: number) => ({ at: minute * 60_000, ...(calls === undefined ? {} : { calls }) });

it.each([
  { name: 'no minute', points: [], lengths: [] },
  { name: 'zeros', points: [at(1, 0), at(2, 0)], lengths: [2] },
  { name: 'minutes before the start', points: [at(1), at(2), at(3, 0), at(4, 5)], lengths: [2] },
  { name: 'a gap', points: [at(1, 1), at(2), at(3, 2), at(4, 3)], lengths: [1, 2] },
  { name: 'nothing known', points: [at(1), at(2)], lengths: [] },
])('the line over $name has $lengths.length parts', ({ points, lengths }) => {
  const parts = partsOf(points, ({ calls }) => calls, 10);
  expect(parts.map(({ length }) => length)).toEqual(lengths);
});

it('a minute keeps its place beside a gap', () => {
  const [part] = partsOf([at(1), at(2), at(3, 10)], ({ calls }) => calls, 10);
  expect(part).toEqual([{ x: '320.0', y: '3.0' }]);
});
