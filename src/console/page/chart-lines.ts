/** Where the lines of a chart go. Apart from the page, because it needs no browser. */
import type { Point } from './facts.ts';

export const WIDTH = 320;
export const HEIGHT = 72;

export interface Line {
  readonly name: string;
  readonly tone: 'accent' | 'soft' | 'bad';
  readonly of: (point: Point) => number | undefined;
}

interface Spot {
  readonly x: string;
  readonly y: string;
}

/** The parts of a line. It has a gap where there is no value: the gateway did not run, or no call has a duration. */
export function partsOf(points: readonly Point[], of: Line['of'], most: number): readonly (readonly Spot[])[] {
  const step = WIDTH / Math.max(1, points.length - 1);
  const parts: Spot[][] = [];
  let part: Spot[] | undefined;
  for (const [at, point] of points.entries()) {
    const value = of(point);
    if (value === undefined) {
      part = undefined;
      continue;
    }
    if (part === undefined) {
      part = [];
      parts.push(part);
    }
    const y = HEIGHT - (value / most) * (HEIGHT - 4) - 1;
    part.push({ x: (at * step).toFixed(1), y: y.toFixed(1) });
  }
  return parts;
}

export function lineOf(points: readonly Point[], of: Line['of'], most: number): string {
  // A short stroke at the end: a part of one minute would have no length, and not be drawn.
  return partsOf(points, of, most)
    .map((part) => `M${part.map(({ x, y }) => `${x} ${y}`).join('L')}h0.5`)
    .join('');
}

export function areaOf(points: readonly Point[], of: Line['of'], most: number): string {
  return partsOf(points, of, most)
    .map((part) => `M${part[0]?.x} ${HEIGHT}L${part.map(({ x, y }) => `${x} ${y}`).join('L')}V${HEIGHT}Z`)
    .join('');
}
