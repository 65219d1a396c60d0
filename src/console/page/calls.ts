/** The calls: a live tail with filters. It asks for what is new, and keeps a bounded number of rows. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { get, type Query } from './api.ts';
import { CallDetail } from './call-detail.ts';
import type { CallRow, Calls } from './facts.ts';
import { clock, count, milliseconds } from './format.ts';
import { Badge, Choice, Era, Section, Table, Text, Trouble } from './parts.ts';

/** Rows on the page: more would slow the browser. */
const ROWS = 200;
const EVERY_MS = 2_000;

const outcomes = ['', 'ok', 'tool-error', 'error', 'denied', 'refused', 'asked', 'cancelled'].map((value) => ({
  value,
  text: value || 'any',
}));
const noFilter = { name: '', who: '', client: '', backend: '', outcome: '', rule: '', slower: '' };

export function CallsPage({
  selected,
  open,
}: {
  readonly selected: number | undefined;
  readonly open: (id?: number) => void;
}) {
  const [filter, setFilter] = useState(noFilter);
  const [isLive, setLive] = useState(true);
  const tail = useTail(filter, isLive);
  const set = (key: keyof typeof noFilter) => (value: string) => setFilter({ ...filter, [key]: value });
  if (selected !== undefined) return html`<${CallDetail} id=${selected} close=${() => open()} />`;
  return html`<${Section} title="Calls" aside=${tail.kept === undefined ? '' : `the last ${count(tail.kept)} are kept`}>
    <form class="fields" onSubmit=${(event: Event) => event.preventDefault()}>
      <${Text} label="Tool or name" value=${filter.name} onInput=${set('name')} />
      <${Choice} label="Outcome" value=${filter.outcome} options=${outcomes} onChange=${set('outcome')} />
      <button type="button" class="quiet" aria-pressed=${isLive} onClick=${() => setLive(!isLive)}>${isLive ? 'Pause' : 'Follow'}</button>
      <details class="more"><summary>More filters</summary><div class="fields">
      <${Text} label="Who" value=${filter.who} onInput=${set('who')} />
      <${Text} label="Client" value=${filter.client} onInput=${set('client')} />
      <${Text} label="Backend" value=${filter.backend} onInput=${set('backend')} />
      <${Text} label="Rule" value=${filter.rule} onInput=${set('rule')} />
      <${Text} label="Slower than (ms)" value=${filter.slower} onInput=${set('slower')} />
      </div></details>
    </form>
    <${Trouble} error=${tail.error} />
    <${Table} caption="Recent calls, newest first" rows=${tail.rows} columns=${columns} keyOf=${(row: CallRow) => row.id}
      empty=${tail.isAsked ? 'No call matches.' : 'Asking.'} />
    ${tail.rows.length >= ROWS && html`<p class="soft">The newest ${ROWS} are shown: filter to see others.</p>`}
  </${Section}>`;
}

const columns = [
  { title: 'Time', cell: ({ id, at }: CallRow) => html`<a href="#/calls/${id}">${clock(at)}</a>` },
  {
    title: 'Outcome',
    cell: ({ outcome, reason }: CallRow) =>
      html`<${Badge} state=${outcome} />${reason && html` <span class="soft">${reason}</span>`}`,
  },
  {
    title: 'What',
    cell: ({ method, name }: CallRow) =>
      html`<span class="mono">${name ?? method}</span>${name && html`<br /><span class="soft">${method}</span>`}`,
  },
  {
    title: 'Backend',
    cell: ({ backend, endpoint }: CallRow) =>
      html`${backend ?? html`<span class="soft">several</span>`}<br /><span class="soft">${endpoint}</span>`,
  },
  {
    title: 'Who',
    cell: ({ who, client }: CallRow) =>
      html`${who}<br /><span class="soft">${client ?? 'client without a name'}</span>`,
  },
  { title: 'Revision', cell: ({ era, revision }: CallRow) => html`<${Era} era=${era} revision=${revision} />` },
  { title: 'Took', kind: 'number' as const, cell: ({ ms }: CallRow) => milliseconds(ms) },
];

interface Tail {
  readonly rows: readonly CallRow[];
  readonly kept: number | undefined;
  readonly isAsked: boolean;
  readonly error: string | undefined;
}

const nothing: Tail = { rows: [], kept: undefined, isAsked: false, error: undefined };

/** Asks only for calls that are later than the last known one. */
function useTail(filter: Query, isLive: boolean): Tail {
  const [tail, setTail] = useState(nothing);
  const key = JSON.stringify(filter);
  useEffect(() => {
    let [isOver, last, timer] = [false, 0, 0];
    const ask = async () => {
      if (!document.hidden) {
        try {
          const found = await get<Calls>('/calls', { ...filter, after: last, limit: ROWS });
          if (isOver) return;
          const isFirst = last === 0;
          last = found.newest;
          setTail((before) => ({
            rows: [...found.calls, ...(isFirst ? [] : before.rows)].slice(0, ROWS),
            kept: found.newest - found.oldest + 1,
            isAsked: true,
            error: undefined,
          }));
        } catch (error) {
          if (!isOver) setTail((before) => ({ ...before, error: (error as Error).message }));
        }
      }
      if (isLive) timer = window.setTimeout(ask, EVERY_MS);
    };
    // A person types a word: ask when they pause.
    timer = window.setTimeout(ask, 150);
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [key, isLive]);
  return tail;
}
