/** Does a cost grow as it may? By the exponent of the power law that fits it best over the upper half of its values. */
import { MOST_FOREIGN } from '../foreign-load.ts';
import type { AxisResult, Growth, Panel, Point } from './axis.ts';

/** A little more than 0 and 1: no two runs are the same. */
export const mostExponent: Readonly<Record<Growth, number>> = { flat: 0.1, linear: 1.15 };

export interface Verdict {
  readonly panel: Panel;
  readonly from: number;
  readonly to: number;
  readonly exponent: number;
  readonly outcome: 'met' | 'MISSED' | 'too busy';
}

const FEWEST = 2;

/** Where costs are low, what they have in common hides how they grow. */
function upperHalf(points: readonly Point[]): readonly Point[] {
  return points.slice(Math.max(0, Math.min(Math.floor(points.length / 2), points.length - FEWEST)));
}

/** The slope of the line of least squares through the logarithms. */
function exponentOf(points: readonly Point[]): number {
  const logs = points.map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
  const mean = (of: (point: Point) => number) => logs.reduce((total, point) => total + of(point), 0) / logs.length;
  const center = { x: mean(({ x }) => x), y: mean(({ y }) => y) };
  const together = mean(({ x, y }) => (x - center.x) * (y - center.y));
  return together / mean(({ x }) => (x - center.x) ** 2);
}

export function judge({ panels }: AxisResult): Verdict[] {
  return panels.map((panel) => {
    const points = upperHalf(panel.lines[0]?.points ?? []);
    const exponent = exponentOf(points);
    const met = exponent <= mostExponent[panel.grows] ? 'met' : 'MISSED';
    const outcome = panel.foreignCores > MOST_FOREIGN ? 'too busy' : met;
    return { panel, from: points[0]?.x ?? Number.NaN, to: points.at(-1)?.x ?? Number.NaN, exponent, outcome };
  });
}
