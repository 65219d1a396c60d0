/** Lines over the last hour, as SVG of our own: a few hundred bytes, and no library. */
import { html } from 'htm/preact';
import { areaOf, HEIGHT, type Line, lineOf, WIDTH } from './chart-lines.ts';
import type { Point } from './facts.ts';
import { clock } from './format.ts';

export function Chart({
  title,
  points,
  lines,
  unit,
}: {
  readonly title: string;
  readonly points: readonly Point[];
  readonly lines: readonly Line[];
  readonly unit: (value: number) => string;
}) {
  const values = points.flatMap((point) => lines.map(({ of }) => of(point) ?? 0));
  const most = niceMost(Math.max(0, ...values));
  // The running minute is not complete; in the first one there is no other.
  const last = points.at(-2)?.calls ? points.at(-2) : points.at(-1);
  const said = lines.map(({ name, of }) => `${name} ${unit((last && of(last)) ?? 0)}`).join(', ');
  return html`<figure class="chart">
    <figcaption><span>${title}</span><span class="legend">${lines.map(
      ({ name, tone, of }) => html`<span class="key ${tone}">${name} <b>${unit((last && of(last)) ?? 0)}</b></span>`,
    )}</span></figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}: ${said}">
      <path class="grid" d="M0 0.5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}" />
      ${lines.map(
        ({ tone, of }, index) => html`<g class=${tone}>
        ${index === 0 && html`<path class="area" d=${areaOf(points, of, most)} />`}
        <path class="line" d=${lineOf(points, of, most)} />
      </g>`,
      )}
    </svg>
    <div class="axis"><span>${points[0] ? clock(points[0].at).slice(0, 5) : ''}</span><span>top ${unit(most)}</span><span>now</span></div>
  </figure>`;
}

/** 1, 2 or 5 times a power of ten. */
function niceMost(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}
