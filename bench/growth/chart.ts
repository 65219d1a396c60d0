/**
 * An axis as an SVG: a panel for each cost. The x axis is logarithmic. So is the y axis where a cost may grow in
 * proportion; where it should be flat, the y axis begins at 0. The ground is white: legible on a dark page too.
 */
import type { AxisResult, Panel, Point } from './axis.ts';
import { figure, valueLabel } from './labels.ts';

const COLUMNS = 2;
const panelBox = { width: 430, height: 290 };
const plot = { left: 68, right: 18, top: 46, bottom: 48 };
const head = 46;
const foot = 26;
const colours = ['#0b5cad', '#b45309'] as const;
const ink = '#1f2937';
const faint = '#6b7280';
const grid = '#e5e7eb';
/** Labels of the x axis closer than this would touch. */
const LABEL_PX = 46;
const FEWEST_TICKS = 3;
const MOST_TICKS = 6;

interface Scale {
  at(value: number): number;
  readonly ticks: readonly number[];
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function label(x: number, y: number, text: string, style: string): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${style}>${escaped(text)}</text>`;
}

function stroke(from: Point, to: Point, colour: string): string {
  const [x1, y1, x2, y2] = [from.x, from.y, to.x, to.y].map((value) => value.toFixed(1));
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${colour}"/>`;
}

function logScale(low: number, high: number, from: number, to: number, ticks: readonly number[]): Scale {
  const width = Math.log(high / low) || 1;
  return { at: (value) => from + ((to - from) * Math.log(value / low)) / width, ticks };
}

/** From coarse to fine. */
const stepsOfTen = [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]] as const;

/** With the digits 1, 2 and 5: 1, 2, 5, 10, 20, ... */
function niceSteps(low: number, high: number, digits: readonly number[]): number[] {
  const steps: number[] = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
    for (const digit of digits) steps.push(Number((digit * 10 ** power).toPrecision(2)));
  }
  return steps.filter((step) => step >= low && step <= high);
}

function growing(values: readonly number[], from: number, to: number): Scale {
  const [least, most] = [Math.min(...values) / 1.15, Math.max(...values) * 1.15];
  const choices = stepsOfTen.map((digits) => niceSteps(least, most, digits));
  const ticks = choices.find(({ length }) => length >= FEWEST_TICKS) ?? choices.at(-1) ?? [];
  return logScale(least, most, from, to, ticks);
}

function flat(values: readonly number[], from: number, to: number): Scale {
  const most = Math.max(...values) * 1.15;
  const step = niceSteps(most / 10, most, [1, 2, 5]).find((one) => most / one <= MOST_TICKS) ?? most;
  const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
  return { at: (value) => from + ((to - from) * value) / most, ticks };
}

function xScale(values: readonly number[], from: number, to: number): Scale {
  const scale = logScale(Math.min(...values), Math.max(...values), from, to, values);
  let last = Number.POSITIVE_INFINITY;
  // From the right: the largest value is the one that matters.
  const ticks = values.toReversed().filter((value) => {
    const isFree = last - scale.at(value) >= LABEL_PX;
    if (isFree) last = scale.at(value);
    return isFree;
  });
  return { ...scale, ticks };
}

function curve(points: readonly Point[], x: Scale, y: Scale, colour: string): string {
  const places = points.map((point) => ({ x: x.at(point.x), y: y.at(point.y) }));
  const path = places.map((place) => `${place.x.toFixed(1)},${place.y.toFixed(1)}`).join(' ');
  const dots = places.map(
    (place) => `<circle cx="${place.x.toFixed(1)}" cy="${place.y.toFixed(1)}" r="3.5" fill="${colour}"/>`,
  );
  return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}`;
}

function legend({ lines }: Panel): string {
  if (lines.length < 2) return '';
  const entries = lines.map(({ name }, at) => {
    const [x, y] = [plot.left + 12, plot.top + 16 + at * 18];
    const colour = colours[at % colours.length];
    return `<circle cx="${x}" cy="${y - 4}" r="4" fill="${colour}"/>${label(x + 10, y, name, `fill="${ink}" font-size="12"`)}`;
  });
  return entries.join('');
}

function drawPanel(panel: Panel, { counts, inBytes = false }: AxisResult): string {
  const { width, height } = panelBox;
  const [right, bottom] = [width - plot.right, height - plot.bottom];
  const points = panel.lines.flatMap((line) => line.points);
  const values = [...new Set(points.map((point) => point.x))].sort((a, b) => a - b);
  const x = xScale(values, plot.left + 8, right - 8);
  const y = (panel.grows === 'flat' ? flat : growing)(
    points.map((point) => point.y),
    bottom,
    plot.top,
  );
  const small = `fill="${faint}" font-size="11"`;
  const parts = [
    label(plot.left, 20, panel.title, `fill="${ink}" font-size="13" font-weight="600"`),
    label(
      plot.left,
      36,
      `${panel.unit}${panel.grows === 'flat' ? ', should be flat' : ', may grow in proportion'}`,
      small,
    ),
    ...y.ticks.flatMap((tick) => [
      stroke({ x: plot.left, y: y.at(tick) }, { x: right, y: y.at(tick) }, grid),
      label(plot.left - 8, y.at(tick) + 4, figure(tick), `${small} text-anchor="end"`),
    ]),
    ...x.ticks.map((tick) =>
      label(x.at(tick), bottom + 18, valueLabel(tick, inBytes), `${small} text-anchor="middle"`),
    ),
    stroke({ x: plot.left, y: bottom }, { x: right, y: bottom }, faint),
    label((plot.left + right) / 2, bottom + 36, inBytes ? 'size' : counts, `${small} text-anchor="middle"`),
    ...panel.lines.map((line, at) => curve(line.points, x, y, colours[at % colours.length] ?? ink)),
    legend(panel),
  ];
  return parts.join('\n');
}

export function drawChart(result: AxisResult, source: string): string {
  const columns = Math.min(COLUMNS, result.panels.length);
  const rows = Math.ceil(result.panels.length / columns);
  const width = columns * panelBox.width;
  const height = head + rows * panelBox.height + foot;
  const panels = result.panels.map((panel, at) => {
    const [x, y] = [(at % columns) * panelBox.width, head + Math.floor(at / columns) * panelBox.height];
    return `<g transform="translate(${x} ${y})">\n${drawPanel(panel, result)}\n</g>`;
  });
  const title = label(20, 30, result.title, `fill="${ink}" font-size="18" font-weight="600"`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, Helvetica, Arial, sans-serif" role="img" aria-label="${escaped(result.title)}">
<rect width="${width}" height="${height}" fill="#ffffff"/>
${title}
${panels.join('\n')}
${label(20, height - 10, source, `fill="${faint}" font-size="11"`)}
</svg>
`;
}
