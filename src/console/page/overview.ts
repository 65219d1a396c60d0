/** The overview: a picture of clients, endpoints and backends, charts of the last hours, and what is wrong. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { useFacts } from './api.ts';
import { Chart } from './charts.ts';
import type { BackendFacts, Overview, Point, ShownHistory } from './facts.ts';
import { age, count, milliseconds, rate, span } from './format.ts';
import { Badge, Choice, Era, Section, Table, Trouble } from './parts.ts';
import { Picture } from './picture.ts';

const hours = [
  { value: '60', text: 'last hour' },
  { value: '180', text: 'last 3 hours' },
  { value: '360', text: 'last 6 hours' },
];

export function OverviewPage() {
  const { value, error } = useFacts<Overview>('/overview', {}, 3_000);
  const [minutes, setMinutes] = useState('60');
  const [of, setOf] = useState('all');
  const [kind, ...name] = of.split(' ');
  const query = { minutes, ...(kind === 'all' ? {} : { [kind as string]: name.join(' ') }) };
  const history = useFacts<ShownHistory>('/history', query, 10_000);
  if (value === undefined) return html`<${Trouble} error=${error} />`;
  const { gateway, endpoints, backends, now } = value;
  const places = [
    { value: 'all', text: 'everything' },
    ...endpoints.map(({ path }) => ({ value: `endpoint ${path}`, text: path })),
    ...backends.filter(({ state }) => state !== 'off').map(({ name: own }) => ({ value: `backend ${own}`, text: own })),
  ];
  return html`<${Trouble} error=${error} />
    <dl class="numbers">
      <div><dt>Requests</dt><dd>${rate(gateway.rate)}</dd></div>
      <div><dt>In flight</dt><dd>${count(gateway.inFlight ?? 0)}</dd></div>
      <div><dt>Sessions</dt><dd>${count(gateway.sessions)}</dd></div>
      <div><dt>Running for</dt><dd>${span(gateway.startedAt, now)}</dd></div>
      <div><dt>Config generation</dt><dd title=${gateway.source}>${gateway.generation}</dd></div>
    </dl>
    <${Section} title="Who talks to what" aside="clients as they call themselves">
      <${Picture} overview=${value} />
    </${Section}>
    <${Section} title="Traffic">
      <div class="fields">
        <${Choice} label="Of" value=${of} options=${places} onChange=${setOf} />
        <${Choice} label="Over the" value=${minutes} options=${hours} onChange=${setMinutes} />
      </div>
      <${Trouble} error=${history.error} />
      <${Charts} points=${history.value?.points ?? []} />
    </${Section}>
    <${Section} title="Backends">
      <${Table} caption="Backends" rows=${backends} columns=${backendColumns(now)} keyOf=${(row: BackendFacts) => row.name}
        empty="The config has no backend." />
    </${Section}>`;
}

function Charts({ points }: { readonly points: readonly Point[] }) {
  if (points.length === 0) return html`<p class="empty">Nothing came here yet.</p>`;
  return html`<div class="charts">
    <${Chart} title="Rate" points=${points} unit=${rate} lines=${[
      { name: 'calls', tone: 'accent', of: ({ calls }: Point) => calls && calls / 60 },
    ]} />
    <${Chart} title="Latency" points=${points} unit=${milliseconds} lines=${[
      { name: 'p95', tone: 'accent', of: ({ p95 }: Point) => p95 },
      { name: 'p50', tone: 'soft', of: ({ p50 }: Point) => p50 },
    ]} />
    <${Chart} title="Errors" points=${points} unit=${(share: number) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`} lines=${[
      { name: 'failed', tone: 'bad', of: ({ calls, errors = 0 }: Point) => calls && errors / calls },
    ]} />
  </div>`;
}

const sources: Readonly<Record<string, string>> = {
  call: 'answered a call',
  probe: 'probed',
  start: 'started',
  config: 'by the config',
};

function backendColumns(now: number) {
  return [
    {
      title: 'Backend',
      cell: ({ name, address }: BackendFacts) =>
        html`<strong>${name}</strong><br /><span class="soft">${address}</span>`,
    },
    { title: 'State', cell: (row: BackendFacts) => html`<${Badge} state=${row.state} /><${Why} ...${row} />` },
    {
      title: 'Told by',
      cell: ({ source, at, since }: BackendFacts) =>
        html`${sources[source ?? ''] ?? 'unknown'}${at === undefined ? '' : ` ${age(at, now)}`}${since === undefined || source === 'start' ? '' : html`<br /><span class="soft">so for ${span(since, now)}</span>`}`,
    },
    {
      title: 'Speaks',
      cell: ({ eras = [], revision, server }: BackendFacts) =>
        html`<${Era} era=${eras[0]} revision=${revision} />${eras.length > 1 ? ' and older' : ''}${server && html`<br /><span class="soft">${server}</span>`}`,
    },
    { title: 'Rate', kind: 'number' as const, cell: (row: BackendFacts) => rate(row.rate) },
    { title: 'In flight', kind: 'number' as const, cell: (row: BackendFacts) => count(row.inFlight ?? 0) },
  ];
}

/** What happened, why, and what to do. */
function Why({ message, cause, cure }: BackendFacts) {
  if (message === undefined) return null;
  return html`<div class="why">${message}${cause && html`<br /><code>${cause}</code>`}${cure && html`<br /><em>${cure}</em>`}</div>`;
}
